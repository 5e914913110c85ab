package testpcap

import "time"

const (
	// maxMessage is the longest payload of a source, in bytes, before it is
	// split: the largest bomb in the golden captures is 10 MB, and a mistyped
	// repeat count must not fill the memory.
	maxMessage = 16 << 20

	// maxUDPv4 and maxUDPv6 are the longest UDP payloads: 16-bit length fields
	// less the headers they count (RFC 791 3.1, RFC 768, RFC 8200 3).
	maxUDPv4 = 65_535 - ipv4HeaderLen - udpHeaderLen
	maxUDPv6 = 65_535 - udpHeaderLen

	// maxSegment is the longest TCP payload, over IPv4; over IPv6 the MTU, which
	// has 16 bits here, leaves less.
	maxSegment = 65_535 - ipv4HeaderLen - tcpHeaderLen

	// minMTU leaves room for an IPv6 header, a fragment header and the 8 bytes
	// that a fragment holds at least.
	minMTU = ipv6HeaderLen + fragmentHeaderLen + fragmentUnit

	// maxGoldSourceParts is what the low nibble of byte 8 can count.
	maxGoldSourceParts = 15
	// maxSourceParts is what byte 8 of a Source header can count.
	maxSourceParts = 255
)

const (
	defaultMTU  = 1500
	defaultTTL  = 64
	defaultSnap = 262_144 // tcpdump's own default
	defaultStep = 20 * time.Millisecond

	// burstGap separates the packets that one message becomes: a server sends
	// them in a row, and a packet never shares its time with another.
	burstGap = 200 * time.Microsecond
)

const (
	// window is what every segment offers: 44 segments of 1,460 bytes, as Linux
	// does at first.
	window = 64_240

	// The initial sequence numbers of the first connection, and how much those of
	// the next one are higher: numbers of one pair of ends never meet, as those of
	// RFC 9293 section 3.4.1 do not.
	firstClientISN = 1_000_000
	firstServerISN = 3_000_000_000
	nextISN        = 64_000_000
)

// Start is the time of the first packet of every capture built here:
// 2023-11-14T22:13:20Z, which is 1,700,000,000 seconds of Unix time.
const Start = int64(1_700_000_000) * int64(time.Second)
