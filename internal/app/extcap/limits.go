package extcap

// What is kept of the packets until the messages in them are known. A split message waits
// five seconds for its parts.
const (
	// maxPackets is how many packets are kept: 6,500 a second for as long as parts wait.
	maxPackets = 1 << 15
	// maxBytes is how many bytes of them: 512 a packet, more than most queries and replies have.
	maxBytes = 16 << 20
)
