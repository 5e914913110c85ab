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
)
