package dialogue

import "time"

const (
	// DefaultOpen is how many dialogues are kept at a time. An exchange is over a few
	// seconds after its last message, so that a server with a hundred queries a
	// second has some hundred open; under a flood the oldest makes room.
	DefaultOpen = 4096

	// DefaultBytes bounds what the turns of all dialogues take: 1.5 KiB each, or some
	// long transcripts. Where there are more the oldest dialogue is written as far
	// as it got.
	DefaultBytes = 6 << 20

	// turnBytes is what a turn takes besides its text: itself, and half a block.
	turnBytes = 192

	// blockBytes is the unit of memory for texts: a line of a dump has 80 bytes, the
	// first line of a message 80 to 200.
	blockBytes = 128

	// keepBytes is how much of the memory in which a dialogue is put together is kept
	// for the next one: longer ones are rare.
	keepBytes = 64 << 10

	// flushBytes is from how many bytes on what is over is handed on: where nothing came
	// for a minute, 4,096 dialogues of 5 KiB are over at the next packet.
	flushBytes = 64 << 10

	// extraWait is how long an answered exchange stays open: servers that answer one
	// request in several formats send all within it.
	extraWait = int64(time.Second)

	// lateWait is how long an exchange stays open that nobody answered in time: an
	// answer that comes at all comes within it.
	lateWait = int64(10 * time.Second)

	// patience is how long an exchange stays open without a message or a word that
	// nobody answers it.
	patience = int64(60 * time.Second)
)
