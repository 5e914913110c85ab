package file

import "qsniff/capture"

const (
	// minChunk and maxChunk bound how many bytes a batch is filled with. The
	// size in between follows the records: capture.MaxPackets of them. Below
	// the lower bound the system call costs more than the bytes it reads;
	// above the upper one the bytes leave the cache before they are decoded.
	// maxChunk is also the most memory that one buffer takes: a buffer that is
	// full of records which have to be seen together doubles, and the most of
	// those are two blocks of maxHeldBlock, or chainLength records of
	// capture.MaxCaptured, which fit.
	minChunk = 16 << 10
	maxChunk = 1 << 20

	// maxEmptyReads is how many times in a row the input may return neither
	// bytes nor an error before it counts as hanging, as bufio does it: io.Reader
	// discourages such reads.
	maxEmptyReads = 100

	// copiedChunk is the length of the buffer of a batch that gopacket's readers fill, in
	// bytes. It holds the longest packet that is believed, and a full batch of
	// short ones.
	copiedChunk = capture.MaxCaptured

	// maxPcapgoDescriptions is how many bytes of interface descriptions a section may have
	// that pcapgo reads: it keeps all their texts. Chosen: those of maxDescribed interfaces
	// with the longest names, comments and filters that people write.
	maxPcapgoDescriptions = 1 << 20

	// textProbe is how many bytes of a file that is no capture must be printable
	// for it to be called text. Chosen: hardly any binary file starts with so many.
	textProbe = 512

	// maxBlock is the longest pcapng block that is believed, in bytes: the
	// limit of libpcap, far above any packet. A longer length is damage.
	maxBlock = 16 << 20

	// maxHeldBlock is the longest block that is read, in bytes: the longest packet
	// that is believed and as many bytes of options. Longer blocks of other kinds
	// (name tables, secrets) are skipped unread; longer packets and descriptions
	// are damage.
	maxHeldBlock = 2 * capture.MaxCaptured

	// maxSectionInterfaces is how many interfaces one section may have. A host
	// has tens of them, and each takes 64 bytes here. The packets of further
	// ones are skipped and reported as a gap.
	maxSectionInterfaces = 4096

	// maxDescribed and maxSections are how many interfaces and sections of a
	// file are described, the first ones; captures that somebody put after one
	// another have a section each. Packets of further interfaces are delivered,
	// with interface numbers that have no description.
	maxDescribed = 256
	maxSections  = 64

	// maxText is how many bytes are kept of a name, description or filter. With
	// maxDescribed, all of them take less than 1 MiB.
	maxText = 1024

	// maxPacketComments is how many comments of one packet are delivered, the
	// first ones: people write one or two, and each costs a slice.
	maxPacketComments = 16

	// maxSearch is how far after damage the next sound record is searched,
	// in bytes: power cuts and full disks leave holes of several megabytes, which
	// had not been written yet. Beyond it reading ends, which also bounds what a
	// compressed file that expands to endless zeros costs.
	maxSearch = 64 << 20

	// chainLength is how many sound record headers in a row, each where the one
	// before ends, are taken for records. Random bytes pass as three headers of
	// pcap once in 2^60; three records also fit into a chunk, whatever their length.
	chainLength = 3

	// maxTimeStep is how many seconds apart neighbouring records may be: in a sound
	// stretch without further checks, after damage at all. It is a day, because
	// servers that are polled are polled daily. The time is what distinguishes a
	// record of this file from one of another capture that packets carry.
	maxTimeStep = 24 * 60 * 60

	// maxWire is the longest length on the wire that a record found after
	// damage may state: twice the 512 KiB of the longest segments that
	// Linux hands to a network card (GSO_MAX_SIZE).
	maxWire = 1 << 20

	// maxZstdWindow is the most memory a zstd stream may need, in bytes. RFC 8878
	// recommends that decoders support 8 MiB; levels up to 19 stay below. Chosen:
	// 32 MiB reads level 20 and --long=25 too.
	maxZstdWindow = 32 << 20

	// maxXzDictionary is the largest dictionary an xz block may have, in bytes. Chosen: xz -9
	// asks for 64 MiB, each lower level for less.
	maxXzDictionary = 64 << 20

	// maxXzDictionaries and xzDictionaryGain bound what the blocks of an xz file may
	// allocate: that many bytes at first, and as many again for each compressed byte. Each
	// block has a new dictionary; without the bound, 40 bytes would cost the clearing of
	// 64 MiB. Chosen: four of the largest, and one more each 16 KiB.
	maxXzDictionaries = 4 * maxXzDictionary
	xzDictionaryGain  = 4096

	// maxDirectory is how many files a directory may have, because packets number
	// their files with 16 bits. A directory with more is refused as a whole.
	maxDirectory = 1 << 16

	// writeChunk is how many bytes a Writer collects before it writes them: with
	// more a write costs no less per byte. writeSlack is room for the packet that
	// fills the buffer; a longer one makes it grow, once.
	writeChunk = 64 << 10
	writeSlack = 4 << 10

	// maxComment is the longest comment of a packet that is written, in bytes:
	// the length has 16 bits, and padding to four bytes adds up to three.
	maxComment = 1<<16 - 4
)
