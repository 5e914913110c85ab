// Package outbox brings the messages of a sensor to a JetStream broker, in order and once each. While
// the broker is away it keeps them in memory and on disk, within limits, and counts what it drops. It
// makes no messages and reads none.
//
//	Put            memory, bounded; never blocks for long: it waits neither for the disk nor for the broker
//	  |
//	  |  Run       one goroutine has the spool and the connection
//	  v
//	spool          older messages on disk, newer ones in memory
//	  |
//	  |  session   one connection: a message leaves the spool when the broker has acknowledged it
//	  v
//	JetStream      drops a second message with the same Nats-Msg-Id
//
// # Order
//
// A connection delivers the messages that are published on it, from the first up to one of them. What was
// not acknowledged when it ended is published again on the next one, from the oldest on: the broker has part
// of it already, and drops that by the message's number. A connection begins with one message in flight,
// and has more as acknowledgements come, so that a broker that takes none gets no later ones before it.
//
// # Once each
//
// The broker recognises numbers for as long as the stream's window for duplicates is (StreamConfig.Duplicates).
// A message whose acknowledgement was lost in an outage that is longer than the window is in the stream
// twice: whoever reads the stream recognises both by sensor, run and number.
//
// # Disk
//
// Where there is a spool, what comes while the broker is away is written at once: a process that is
// killed loses only what had no acknowledgement yet on a connection that works. It reads the spool at its
// start. Nothing is synced: a machine that loses its power loses the last seconds, and the
// torn record at the end of a file is counted.
package outbox
