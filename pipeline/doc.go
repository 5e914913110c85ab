// Package pipeline wires the stages into three kinds of worker and is the home of
// all goroutines below cmd:
//
//	          +-> partitions 0, 2, 4 ... (goroutine 0) -+
//	reader ---+                                         +--> fold --> writer
//	          +-> partitions 1, 3, 5 ... (goroutine 1) -+
//
// A packet arrives:
//
//  1. The reader cuts records into batches. Of each packet it decodes the network
//     layers, leaves out copies (dedup), joins IP fragments, lets time pass (clock,
//     idle), and makes an item, which goes to one of 16 partitions by its address pair.
//     Ticks, gaps and the end go to all.
//  2. A worker takes the items of a batch to the partitions that it serves. Each hands
//     an item through its stages, drawn below, which know those that follow and no other.
//  3. The fold takes the segments of all workers and merges what is in them in packet
//     order: messages, notes, silences (spans) and sightings. It gives them to
//     hostFindings, which looks for what messages of many address pairs show, to
//     dialogues or textOutput, which write, to the listener, and to watching.
//
// Within a partition, a datagram goes through joiner, identifier and so on to the
// segment; a TCP segment takes the other way to the tracker:
//
//	sights       notes what watchers of floods need, by the packet alone
//	joiner       joins split messages, and the fragments of protocols
//	identifier   finds protocol and type of a payload; parks requests too weak to believe
//	parser       makes the message, and keeps what it teaches about its flow
//	    streams      joins the segments of a connection
//	    claims       finds the protocol of a connection
//	    connReport   makes its messages; tells sights of logins
//	tracker      finds the place of a message in an exchange, and what that shows
//	emitter      writes it to the segment: text, fact, turn of a dialogue
//
// What travels between stages is declared apart from them: item (batch.go), source
// (a payload and where it came from), span and sight (segment.go), totals.
// What all stages of a partition read, the item at work, is current.
//
// ReadAhead lets whoever reads a file work beside whoever takes it apart.
//
// The number of partitions is fixed and time is packet time, so the output, and
// what the bounded tables evict, is the same for any number of goroutines.
package pipeline
