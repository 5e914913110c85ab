package master

const (
	// fullPage is how many entries a page has that the master filled: 1,392
	// bytes. A shorter one without the end mark is worth a word.
	fullPage = 231

	// maxFilter is the longest filter that masters are known to take, in bytes.
	maxFilter = 190

	// maxOldHeartbeat bounds what may be taken for a WON heartbeat: a few
	// numbers. It has little structure else.
	maxOldHeartbeat = 256
)
