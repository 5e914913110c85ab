package text

import "qsniff/internal/base/display"

const (
	// defaultWidth is the usual width of a terminal, in which everything must be readable.
	defaultWidth = 80

	// minWidth is the narrowest layout: columns for offset, four bytes, a name
	// and a value that holds the longest escape. Narrower terminals wrap.
	minWidth = 40

	// maxLevels is how deep the tree indents: four levels more than dissectors can nest.
	// Anything deeper is shown at the last level.
	maxLevels = 12

	// maxBriefCells is how wide a text gets in Line: server names are limited to
	// 64 characters by most engines. The rest is an ellipsis: a hostile sender
	// has 64 KiB to push everything else off the screen, and Tree shows it all.
	maxBriefCells = 96

	// maxBriefRaw is how many bytes of a text can matter for maxBriefCells: a
	// character of four bytes with all its marks.
	maxBriefRaw = maxBriefCells * 4 * (1 + display.MaxMarks)

	// maxBriefBytes is how many bytes of a binary value Line shows: an address,
	// a challenge, a hash.
	maxBriefBytes = 16

	// maxBriefFindings is how many findings Line names; the rest is a number.
	maxBriefFindings = 4
)
