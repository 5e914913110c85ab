package measure

const (
	// Claims follows claimSets sets of claimWays sources, 65,536 in all; where more than
	// ClaimsEach new ones come in a second, one source in 2^n. Chosen: ClaimsEach sources a
	// second fill the sets in 20 s, several times PendingFor.
	claimSets  = 1 << 14
	ClaimsEach = 3000
	// claimsCalm is the number of new sources a second below which more are followed again.
	claimsCalm = 500
	// TopSources and TopPrefixes are how many sources and networks of a server a pane counts
	// one by one. Chosen: a flood from fewer sources is listed whole.
	TopSources  = 512
	TopPrefixes = 256
	// provenBytes is the size of each of the two filters that hold the sources that proved
	// their address in the last ten to twenty minutes.
	provenBytes = 16 << 10
	// BinSeconds is how many seconds back counts are kept: a minute, for the rate over one.
	BinSeconds = 64
	// PaneSeconds is the length of a pane.
	PaneSeconds = 10
	// ShapeForms is how many forms of packets a Shape holds: four types with lengths of
	// their own. Packets of further types are counted together. Chosen: a flood of more
	// types than a server has questions is junk.
	ShapeForms = 16
	// formLengths is how many forms of one type, with or without a challenge, a Shape
	// holds, so that a flood with random lengths leaves room for other types. Further
	// lengths widen the nearest form.
	formLengths = 4
	// ShapeSeconds is how many seconds back the shape of each is kept: the longest that
	// verdicts on attacks take.
	ShapeSeconds = 4
)
