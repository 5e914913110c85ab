// Package tally holds what a run over packets came to: what was read, what messages
// there were, and the counters of every stage that packets pass. It is plain data:
// pipeline fills it in, render/counters names each counter for people and programs.
package tally

import (
	"reflect"

	"qsniff/reassembly"
	"qsniff/reassembly/ipfrag"
	"qsniff/reassembly/split"
	"qsniff/reassembly/tcpstream"
)

// Run is what one run over packets came to.
type Run struct {
	Packets uint64
	Bytes   uint64 // captured
	First   int64  // Unix nanoseconds of the first and the last packet, 0 if none
	Last    int64
	// Interrupted reports that somebody ended the run. Of Size bytes of input (0: unknown)
	// Read were read, as they are in the files: compressed ones before expansion.
	Interrupted bool
	Read, Size  int64
	Messages    uint64
	Types       []TypeCount // by count, largest first
	Skipped     []Reason    // packets that held no message, by reason, largest first
	// Dropped is how many packets the capturing program says it lost.
	Dropped uint64
	// Doubled is how many packets detection left out because the capture has nearly all
	// of them twice.
	Doubled uint64
	// Backwards counts packets whose time lies before an earlier packet's; they
	// were treated as if no time had passed.
	Backwards uint64
	// Gaps counts damaged places of the input that were passed over, GapBytes the bytes
	// in them, after expansion.
	Gaps, GapBytes uint64
	// FlowsEvicted counts flows whose memory made room for newer ones.
	FlowsEvicted uint64
	// ExchangesEvicted counts exchanges that made room for newer ones before they
	// were answered or their wait was over.
	ExchangesEvicted uint64
	// HostsEvicted counts servers and clients that made room for others, and with
	// them what many messages would have shown.
	HostsEvicted uint64
	// SessionsEvicted counts connections of which no more was read, to stay within memory.
	SessionsEvicted uint64

	IP     ipfrag.Counters
	Split  split.Counters
	Joined reassembly.JoinCounters // replies that a protocol of its own cuts
	TCP    tcpstream.Counters
}

// TypeCount counts the messages of one type.
type TypeCount struct {
	Protocol, Message string
	Count             uint64
}

// Reason counts what was left out, and says why.
type Reason struct {
	Why   string
	Count uint64
}

// Add adds the counters of from to those of to: two structs of one type, whose fields
// are numbers without a sign, or such structs. A counter that is new is added like the
// others. It is for the end of a run: reflection is too slow for every batch.
func Add[T any](to, from *T) {
	addFields(reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem())
}

func addFields(to, from reflect.Value) {
	for i := range to.NumField() {
		if f := to.Field(i); f.Kind() == reflect.Struct {
			addFields(f, from.Field(i))
		} else {
			f.SetUint(f.Uint() + from.Field(i).Uint())
		}
	}
}
