package file

import "qsniff/capture"

const (
	// minChunk and maxChunk bound how many bytes a batch is filled with. The
	// size in between follows the records: capture.MaxPackets of them. Below
	// the lower bound the system call costs more than the bytes it brings;
	// above the upper one the bytes leave the cache before they are decoded.
	// maxChunk is also the most memory that one buffer takes. What has to be
	// seen in one piece makes the buffer double, but only when it is full, and
	// sizes are rounded up to powers of two. The longest such piece is two
	// blocks of maxHeldBlock, or chainLength records of capture.MaxCaptured;
	// each fits.
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

	// maxBlock is the longest pcapng block that is believed, in bytes: the
	// limit of libpcap, far above any packet. The length of a longer one is taken for damage.
	maxBlock = 16 << 20

	// maxHeldBlock is the longest block that is looked into: the longest
	// packet that is believed and as many bytes of options. Longer blocks of
	// other kinds (name tables, secrets) are passed over unread, longer
	// packets and descriptions are taken for damage.
	maxHeldBlock = 2 * capture.MaxCaptured

	// maxSectionInterfaces is how many interfaces one section may have. A host
	// has tens of them, and each takes 64 bytes here. The packets of further
	// ones are skipped and reported as a gap.
	maxSectionInterfaces = 4096

	// maxDescribed and maxSections are how many interfaces and sections of a
	// file are described; captures put after one another by hand have one
	// section each. The first ones stay. Packets of further interfaces are
	// delivered, with interface numbers that have no description.
	maxDescribed = 256
	maxSections  = 64

	// maxText is what is kept of a name, description or filter, in bytes. With
	// maxDescribed, all of them take less than 1 MiB.
	maxText = 1024

	// maxPacketComments is how many comments of one packet are delivered, the
	// first ones: people write one or two, and each costs a slice.
	maxPacketComments = 16

	// maxSearch is how far after damage the next sound record is looked for,
	// in bytes: the holes that power cuts and full disks leave are a few
	// megabytes of what had not been written yet. Beyond, the file is given
	// up, which also bounds what a bomb of zeros in a compressed file costs.
	maxSearch = 64 << 20

	// chainLength is how many sound record headers in a row, each where the
	// one before says, are taken for records. Three headers of pcap fix 60
	// bits against random bytes; they also fit in a chunk whatever they say.
	chainLength = 3

	// maxTimeStep is how far apart in seconds the times of neighbouring
	// records may be without a second look, and after damage at all: a day,
	// because servers that are polled are polled daily. The time is what tells
	// a record of this file from one of another file inside a packet.
	maxTimeStep = 24 * 60 * 60

	// maxWire is the longest length on the wire that a record found after
	// damage may state: twice the 512 KiB of the longest segments that
	// Linux hands to a network card (GSO_MAX_SIZE).
	maxWire = 1 << 20

	// maxZstdWindow is the most memory a zstd stream may ask for, in bytes. RFC
	// 8878 recommends that decoders support 8 MiB; levels up to 19 stay below.
	// 32 MiB reads level 20 and --long=25 too, and leaves the rest of the
	// memory budget alone.
	maxZstdWindow = 32 << 20

	// maxDirectory is how many entries of a directory are looked at, and so
	// how many captures it can contribute: packets number their files with 16
	// bits. Directories with more are refused, not cut.
	maxDirectory = 1 << 16

	// writeChunk is how many bytes a Writer collects before it writes them: more
	// makes a write call no cheaper per byte. writeSlack is room for the packet
	// that makes it full; a longer one grows the buffer once.
	writeChunk = 64 << 10
	writeSlack = 4 << 10

	// maxComment is the longest comment of a packet that is written, in bytes:
	// as much as 16 bits say, less what padding to four bytes adds.
	maxComment = 1<<16 - 4
)
