// Package track finds out what only several messages together show. It reads no payload
// and renders nothing.
//
// In a partition, which has all packets between its pairs of ends, a message passes
//
//	Flows      what a server and a client have shown of each other before: the engine,
//	           the protocol, passwords
//	Exchanges  which request, repeats, challenge, echo and replies belong together
//
// After the partitions, the fold has the messages of all in packet order, as facts:
//
//	Fact       a message with its part in an exchange, or an answer that did not come
//	Hosts      findings that rest on many facts of one server or client
//	Listener   whoever else wants facts, as package stats does
//
// Sightings are the other way through the program: Sighting is a small record of a packet
// for those who watch a whole network (Watcher), as the packages below flood do.
package track
