// Package other measures what else comes to hosts with game servers than queries: SYN
// floods, floods of random UDP, fragments, ICMP, tunnels, the replies of amplifiers, and
// what clients of other games send. It says of each class of packets how much of it came
// in each second and whether that is a flood, and writes no incident: package flood does.
// Queries, and what begins like one, are not its business.
//
// # Whose packets count
//
// A host is known once a query was sent to it, or a packet to a port where our protocols
// are met. Packets to other hosts are not looked at. A host that gets promote packets in a
// second is watched closely, with a count for each class.
//
// # What is ordinary
//
// A game server gets thousands of packets a second from its players, and so does who serves
// downloads from the acknowledgements. What a host answers is therefore no flood: a flow in
// which the host sends as well is a session, and counts as nothing else. A capture of one
// direction shows no sessions; there it takes ten times as many packets for a flood
// (BlindFactor), and those that came from the begin of the capture on are the usual ones.
//
// What makes a class a flood, how many packets a second at least, stands with its reason in
// classes.go, that of amplifiers with their ports in host.go.
//
// # State
//
// Of fixed size, see limits.go. Single-threaded, and without a clock but that of its caller.
package other
