// Package pipeline wires the stages into three kinds of worker and is the home of
// all goroutines below cmd:
//
//	          +-> partitions 0, 2, 4 ... (goroutine 0) -+
//	reader ---+                                         +--> fold --> writer
//	          +-> partitions 1, 3, 5 ... (goroutine 1) -+
//
// The reader cuts records into batches, decodes the network layers, joins IP
// fragments and hands each packet to one of 16 partitions by its address pair. A
// partition joins split replies and TCP streams, dissects, pairs requests with
// replies and renders; it shares nothing. The fold merges what the partitions made
// of a batch in packet order, looks for what messages of many address pairs show,
// tells listeners, puts dialogues together and writes.
//
// ReadAhead lets whoever reads a file work beside whoever takes it apart.
//
// The number of partitions is fixed and time is packet time, so the output, and
// what the bounded tables evict, is the same for any number of goroutines.
package pipeline
