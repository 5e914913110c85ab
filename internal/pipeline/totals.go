package pipeline

import (
	"qsniff/capture"
	"qsniff/capture/packet"
	"qsniff/reassembly"
	"qsniff/reassembly/ipfrag"
	"qsniff/reassembly/split"
	"qsniff/reassembly/tcpstream"
)

// totals are a partition's running counters.
type totals struct {
	unknown    uint64                   // datagrams that no protocol claims
	echoes     uint64                   // datagrams that send a request back
	unmatched  uint64                   // messages that the filter does not choose and that did not reach the fold
	unbelieved uint64                   // datagrams that could be messages, which nothing confirmed
	game       uint64                   // split messages that are game traffic
	icmp       uint64                   // ICMP errors that quote no message
	unread     [packet.NumUnread]uint64 // datagrams of tunnels that are not read
	// sessionsEvicted counts open connections whose session was evicted for another.
	sessionsEvicted uint64
	tcpOther        uint64 // segments with data of connections of other protocols
	tcpEmpty        uint64 // segments without data of such connections
	flowsEvicted    uint64
	// exchangesEvicted counts exchanges that were evicted before they were over.
	exchangesEvicted uint64
	// visitsEvicted counts visits of clients that were evicted before they were over.
	visitsEvicted uint64
	split         split.Counters
	joined        reassembly.JoinCounters
	tcp           tcpstream.Counters
}

// readerTotals are the reader's running counters.
type readerTotals struct {
	packets, bytes uint64
	copies         uint64 // packets dropped because they were captured before
	samples        uint64 // packets that stand for several
	sampledFor     uint64 // how many these stand for
	notSampled     uint64 // samples and records of sFlow without the start of a packet
	merged         uint64 // frames that held several datagrams because of offload
	segments       uint64 // these datagrams
	proxyEvicted   uint64 // what was known of proxies and made room
	proxied        uint64 // datagrams of clients, or to clients, that a proxy forwarded with a header
	backwards      uint64 // packets older than one before
	first, last    int64  // earliest and latest time stamp
	stops          [packet.NumStops]uint64
	unread         [packet.NumUnread]uint64 // of stops: those that have a name
	link           uint16                   // the last link type that is not decoded
	frags          ipfrag.Counters
	abandoned      uint64 // sets of fragments that were given up and of which there is a start
	source         capture.Stats
}
