package file

import "qsniff/capture"

const (
	// minChunk and maxChunk bound how many bytes a batch is filled with. The
	// size in between follows the records: capture.MaxPackets of them. Below
	// the lower bound the system call costs more than the bytes it brings;
	// above the upper one the bytes leave the cache before they are decoded.
	// maxChunk is also the most memory that one buffer takes. A record longer
	// than the chunk makes the buffer double, but only when it is full, hence
	// for the last time at 256 KiB (capture.MaxCaptured and the header), and
	// sizes are rounded up to powers of two.
	minChunk = 16 << 10
	maxChunk = 1 << 20

	// maxEmptyReads is how many times in a row the input may return neither
	// bytes nor an error. The number is that of bufio: io.Reader discourages
	// such reads, so a hundred of them in a row are a reader that hangs.
	maxEmptyReads = 100

	// libpcapChunk is the buffer of a batch that libpcap fills. It holds the
	// longest packet that is believed, and a full batch of short ones.
	libpcapChunk = capture.MaxCaptured

	// textProbe is how many bytes of a file that is no capture are looked at
	// to call it text: more than any binary file is likely to start with in
	// printable bytes.
	textProbe = 512
)
