package dialogue

import "time"

const (
	// DefaultOpen is how many dialogues are kept at a time. An exchange is over
	// seconds after its last message, so that a server with a hundred queries a
	// second has hundreds open; under a flood the oldest makes room.
	DefaultOpen = 4096

	// maxVisits is how many pairs of client and server are kept with what the client showed,
	// 0.3 MiB: the exchanges of DefaultOpen dialogues. Of one that is evicted, exchanges are
	// written without the name of its program.
	maxVisits = 4096

	// DefaultBytes bounds what the turns of all dialogues take: 1.5 KiB for each of
	// DefaultOpen, or several long transcripts. Where they take more, the oldest dialogue
	// is written as far as it got.
	DefaultBytes = 6 << 20

	// turnBytes is what a turn takes besides its text: itself, and half a block.
	turnBytes = 192

	// blockBytes is the unit of memory for texts: a line of a dump has 80 bytes, the
	// first line of a message 80 to 200.
	blockBytes = 128

	// keepBytes is how much of the memory in which a dialogue is put together is kept
	// for the next one. Chosen: longer dialogues are rare.
	keepBytes = 64 << 10

	// flushBytes is how many bytes of output are collected before they are written: where
	// nothing came for a minute, 4,096 dialogues of 5 KiB are over at the next packet.
	flushBytes = 64 << 10

	// extraWait is how long an answered exchange stays open. Chosen: servers that answer
	// one request in several formats send all of them within it.
	extraWait = int64(time.Second)

	// lateWait is how long an exchange stays open that nobody answered in time. Chosen: an
	// answer that comes at all comes within it.
	lateWait = int64(10 * time.Second)

	// patience is how long an exchange stays open after its last message while package
	// track has not reported that it stays unanswered. Chosen: longer than any wait of track.
	patience = int64(60 * time.Second)
)
