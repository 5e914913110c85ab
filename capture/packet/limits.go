package packet

// A packet beyond one of these limits ends the walk with TooDeep, which is counted
// like every other Stop.
const (
	// maxWays is how many tags, label stacks, sessions and tunnels may lie
	// around one packet, in all. A mirrored frame (ERSPAN) of an overlay
	// network (VXLAN) is three frames; with the two tags of IEEE 802.1ad on
	// each, that is eight ways in.
	maxWays = 8

	// maxLabels is how many MPLS labels one stack may have. Segment routing
	// imposes the deepest stacks, about a dozen labels.
	maxLabels = 16

	// maxExtensions is how many IPv6 extension headers one packet may carry.
	// The order recommended by RFC 8200 section 4.1 has six that can be read,
	// so more than eight are sent to make the walk long. The limit holds for the
	// extension headers of GTP-U too.
	maxExtensions = 8

	// maxHeaders is how many headers a Trace has: in each way in, and in the packet itself,
	// there are at most an Ethernet, an IP and a transport header.
	maxHeaders = 3 * (maxWays + 1)

	// maxAttributes is how many attributes the header of one NFLOG packet may
	// have. Linux defines about twenty; chosen: three times as many, for later ones.
	maxAttributes = 64
)

// Partitions is how many values Partition returns. It never depends on the
// machine, because which packets share a table decides what is evicted.
const Partitions = 16
