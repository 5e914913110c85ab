package sample

const (
	// maxBytes is the text of the exchanges that are kept until the end of the run, when it
	// is known how much room a report has, and what the incidents were: half as much again as it holds.
	maxBytes = 7 << 19

	// maxEntries is how many they are, 0.7 MiB. Chosen: those with the shortest texts fill
	// maxBytes.
	maxEntries = 1 << 13

	// maxIntervals is how many intervals of time exchanges are spread over. Chosen: the points
	// of a chart.
	maxIntervals = 240

	// maxCounts is how many groups and intervals have counts, 1 MiB. Chosen: a few for each of
	// maxEntries.
	maxCounts = 1 << 15

	// wholeFrames is up to which frame all exchanges are rendered, and how many frames of each
	// doubling after that: a rendered message takes ten times as long as a counted one, and a
	// report shows a thousand of a million.
	wholeFrames = 1 << 13
)
