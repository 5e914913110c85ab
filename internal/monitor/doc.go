// Package monitor counts what servers are asked and answer, for as long as a capture runs:
// what qsniff monitor shows to Prometheus, to its page and to a terminal. It is no store of
// time series, and it keeps nothing about clients: no address of one is in what it gives out.
//
// A packet arrives, and the Meter gets its sighting, as the detector of floods does. Messages
// in datagrams are not read for it, which would take twice the time; a request and its reply
// meet in a small table by the hashes of their ends. The replies that say what a server is are
// read once a second.
//
//	track.Sighting   request, challenge, reply, part, junk, ICMP error, login
//	  |
//	  v
//	Meter            slot of the server x kind of message; pairs finds what was answered
//	  |
//	  |  Publish, after each batch, if somebody asked
//	  v
//	Snapshot         read by internal/monitor/metrics and whatever else shows something
//
// A server has counters of its own, a slot, if it was named, or once it has answered somebody:
// requests to a million forged addresses, or replies from them, make no slots. All others
// share one.
package monitor
