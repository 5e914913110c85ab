package netlayer

// What goes beyond these limits ends the walk with TooDeep, which is counted
// like every other Stop.
const (
	// maxTags is how many VLAN tags one frame may carry. IEEE 802.1ad stacks
	// two; twice that leaves room for carriers that tag the tagged.
	maxTags = 4

	// maxExtensions is how many IPv6 extension headers one packet may carry.
	// The order recommended by RFC 8200 section 4.1 has six that can be read,
	// so more than eight is a sender who wants the walk to be long.
	maxExtensions = 8
)

// Partitions is how many values Partition returns. It never depends on the
// machine, because which packets share a table decides what is evicted.
const Partitions = 16
