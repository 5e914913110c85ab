package sample

const (
	// maxBytes is the packed text of the exchanges that are kept until the end of the run, when
	// it is known how much room a report has, and what the incidents were: unpacked, several
	// times as much as a report holds.
	maxBytes = 3 << 19

	// MaxOpen is the packed text of exchanges that are not over. Chosen: a thousand of usual
	// length.
	MaxOpen = 3 << 19

	// maxEntries is how many they are, 0.2 MiB. Chosen: those with the shortest texts fill
	// maxBytes.
	maxEntries = 1 << 11

	// maxIntervals is how many intervals of time exchanges are spread over. Chosen: the points
	// of a chart.
	maxIntervals = 240

	// maxCounts is how many groups and intervals have counts, 1 MiB. Chosen: 16 for each of
	// maxEntries.
	maxCounts = 1 << 15

	// WholeFrames is up to which frame all exchanges are rendered, and how many frames of each
	// doubling after that: a rendered message takes ten times as long as a counted one, and a
	// report shows a thousand of a million.
	WholeFrames = 1 << 13
)
