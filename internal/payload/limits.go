package payload

const (
	// MaxPayload is the longest UDP payload that IPv4 carries, in bytes.
	MaxPayload = 65_507

	// MaxPayloads has room for all that a split header can count, 255 parts, and as
	// many messages around them.
	MaxPayloads = 512

	// MaxText is how much text is read, in bytes: the longest dumps have five
	// characters a byte, so that it holds 20 payloads of the longest kind, and all
	// of the usual ones.
	MaxText = 8 << 20

	// maxLines is how many lines stand between two blank ones: four payloads of the
	// longest kind with a byte a line. A line costs some hundred bytes while it is
	// read, so that MaxText of empty ones would take half a gigabyte.
	maxLines = 4 * MaxPayload

	// maxBrackets is how many pairs of brackets with numbers in them are looked at: an
	// array may have three more, its type, its name and an index.
	maxBrackets = 4 * MaxPayloads

	// widestRow is how many bytes a row of a dump has at most that shows them as text
	// too: xxd -c takes no more. Where the text begins is found by trial, which takes
	// the square of it.
	widestRow = 256
)
