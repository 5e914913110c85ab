package measure

const (
	// claimSets sets of four are the sources whose challenges are followed: one in 2^n of
	// them where more than ClaimsEach new ones come in a second.
	claimSets  = 1 << 14
	ClaimsEach = 3000
	// claimsCalm is the rate below which more sources are followed again.
	claimsCalm = 500
	// TopSources and TopPrefixes are how many sources and networks of a server are told
	// apart in ten seconds.
	TopSources  = 512
	TopPrefixes = 256
	// provenBytes is the size of each of two filters that hold the sources that proved their address in
	// the last ten to twenty minutes.
	provenBytes = 16 << 10
	// BinSeconds is how far back seconds are kept.
	BinSeconds = 64
	// PaneSeconds is how long a pane is.
	PaneSeconds = 10
)
