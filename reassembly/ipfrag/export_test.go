package ipfrag

var whyNames = [...]string{
	"joined", "expired", "evicted", "capture ended", "overlapping fragments", "too many fragments",
}

func (w Outcome) String() string { return whyNames[w] }
