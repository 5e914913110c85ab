package payload

const (
	// MaxPayload is the longest UDP payload that IPv4 carries, in bytes.
	MaxPayload = 65_507

	// MaxPayloads has room for all that a split header can count, 255 parts, and as
	// many messages around them.
	MaxPayloads = 512

	// MaxText is the longest text that is read, in bytes. The longest dumps have five
	// characters a byte: 8 MiB hold 25 payloads of the longest kind, and MaxPayloads
	// of up to 3,200 bytes.
	MaxText = 8 << 20

	// maxLines is the most lines between two blank ones: those of four payloads of the
	// longest kind with a byte a line. A line costs about 100 bytes while it is read,
	// so that MaxText of the shortest lines would take half a gigabyte.
	maxLines = 4 * MaxPayload

	// maxBrackets is how many pairs of brackets with numbers in them are read: an array
	// has one, and up to three more for its type, its name and an index.
	maxBrackets = 4 * MaxPayloads

	// widestRow is the most bytes in a row of a dump with a text column, the limit of
	// xxd -c. Where the text begins is found by trial, in time proportional to the
	// square of the width.
	widestRow = 256
)
