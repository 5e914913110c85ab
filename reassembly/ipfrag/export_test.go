package ipfrag

var outcomeNames = [...]string{
	"joined", "expired", "evicted", "capture ended", "overlapping fragments", "too many fragments",
}

func (o Outcome) String() string { return outcomeNames[o] }
