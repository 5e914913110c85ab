// Package pipeline runs a capture through all stages, from the packets of a source to the
// text and the findings about them. It reads no format and no protocol itself: its stages
// call netlayer, reassembly, dissect, track and render in turn. It starts all goroutines
// below cmd:
//
//	          +-> partitions 0, 2, 4 ... (goroutine 0) -+
//	reader ---+                                         +--> fold --> writer
//	          +-> partitions 1, 3, 5 ... (goroutine 1) -+
//
// A packet arrives:
//
//  1. The reader reads a batch of packets. Of each it decodes the network layers, drops
//     copies (copies, census), joins IP fragments, advances time (clock, idle), and makes an item,
//     which goes to one of 16 partitions by its address pair. Ticks, gaps and the end go
//     to all.
//  2. A worker passes the items of a batch to the partitions that it serves. Each passes
//     an item through its stages, drawn below; a stage calls only those after it. What
//     becomes of the items is collected in segments, which are no segments of TCP.
//  3. The fold receives the segments of all workers and merges what is in them in packet
//     order: messages, notes, silences (spans) and sightings. It gives them to
//     hostFindings, which finds what messages of many address pairs show together, to
//     dialogues or textOutput, which write, to the listener, and to watching.
//
// Within a partition, a datagram goes through joiner, identifier and so on to the
// segment; a TCP segment takes the other way to the tracker:
//
//	sightMaker   makes sightings for the watchers of floods, by the packet alone
//	joiner       joins split messages, and the fragments of protocols
//	identifier   finds protocol and type of a payload; parks requests too weak to believe
//	parser       makes the message, and records what it shows about its flow
//	    streams      joins the segments of a connection
//	    claims       finds the protocol of a connection
//	    connReport   makes its messages; gives logins to sightMaker
//	tracker      finds the place of a message in an exchange, and what that shows
//	emitter      writes it to the segment: text, fact, turn of a dialogue
//
// What passes between stages is declared apart from them: item (batch.go), payload,
// span and sight (worker.go), totals. The item that a partition works on, which all of
// its stages read, is in current.
//
// ReadAhead lets a goroutine decompress a file while another decodes it.
//
// The number of partitions is fixed and time is packet time, so the output, and
// what the bounded tables evict, is the same for any number of goroutines.
package pipeline
