package extract

const (
	// MaxExchanges is how many exchanges one call makes fixtures of. Chosen: more than any suite
	// of tests has room for.
	MaxExchanges = 1000

	// maxHeld is how many bytes of payloads are held until they are written: 1,000 replies of
	// 16 KiB, or fewer of the longest.
	maxHeld = 16 << 20

	// fragmentBytes is the memory in which fragments of IP are joined: those of a datagram come
	// together, and others are not looked at.
	fragmentBytes = 4 << 20

	// hexWidth is how many bytes a line of hexadecimal has. Chosen: 64 digits fit any screen.
	hexWidth = 32
)
