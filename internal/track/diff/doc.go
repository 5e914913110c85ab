// Package diff finds what happened to UDP datagrams, and to TCP segments of consoles, between two
// points at which both were captured: EDGE, near the clients, and HOST, near the servers. It reads captures and
// prints nothing; it names no protocol and decodes only to name kinds of messages and the
// fields that differ.
//
// Both captures are read three times.
//
//	Survey    a sample of the contents of both, the same at both points: contents that are
//	          there once at each show the difference of the clocks and its drift (clock.go),
//	          and which addresses were translated (ends.go). Who serves is learned, too.
//	Compare   windows of both captures in the clock of HOST (window.go). Datagrams with the
//	          same content and the same ends are paired by order and time (align.go); what is
//	          left is a copy, part of a message that is in other datagrams at the other point
//	          (reframe.go), a changed datagram, an answer from in between, or missing
//	          (classify.go). A datagram is judged once the whole wait for its counterpart lies
//	          in memory.
//	Collect   the bytes of changed datagrams, and the packets that the caller writes.
//
// TCP segments take the same way (segment.go): those with data, and those that begin or end a connection. Equal
// bytes are distinguished by their place in the stream (place.go), those that were cut in another way are
// found by hashes that can be joined (align.go, segment.go), and connections that one capture
// alone has are listed (connections.go).
//
// Every datagram of both captures, and every segment that is compared, gets exactly one Class. What one capture does not cover in
// time is not judged.
package diff
