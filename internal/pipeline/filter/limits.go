package filter

const (
	// maxText is how long an expression can be, in bytes. Chosen: a set of 1,024 addresses
	// fits, and parsing it takes less than a millisecond.
	maxText = 32 << 10
	// maxDepth is how deep parentheses, "not" and functions nest. Chosen: nobody writes more
	// than ten, and 100 frames of the parser are a few KiB of stack.
	maxDepth = 100
	// maxNodes is how many comparisons an expression can have. Chosen: each costs tens of
	// nanoseconds for each message.
	maxNodes = 256
	// maxSet is how many values a set in braces can have. It is searched from its start, for
	// each value of the field. Chosen: 1,024 comparisons take a microsecond.
	maxSet = 1024
	// maxPattern is how long a regular expression can be, in bytes. Package regexp bounds
	// what repetitions make of it. Chosen: 512 bytes hold any list of names.
	maxPattern = 512
	// maxSlices is how many parts one slice can have, as in payload[0:2,4,8:].
	maxSlices = 16
	// maxListed is how many values of a field an error lists. Chosen: they fit into two lines.
	maxListed = 16
	// maxName is how long a word can be for which the nearest names are searched: the search
	// takes time by its length, for each name there is. Chosen: no name is as long.
	maxName = 64
	// maxLate is how many different comparisons can be on what is known later: a table of
	// their outcomes has 2^6 entries, which are the bits of a Truth.
	maxLate = 6
)
