package responder

const (
	// maxDatagram holds any request: a query has less than 100 bytes, and the
	// padded ones of 2020 at most 1,400.
	maxDatagram = 2048
	// maxRequest bounds the size field of a command: Minecraft refuses more than
	// 1,460 bytes, and no client sends as much.
	maxRequest = 4096
)
