// Package stats counts what the messages of a run show: how many of which type,
// what each server answers and how fast, who asks, how the rate changes. It takes
// facts in packet order (Collector is a track.Listener) and takes a fixed amount of memory
// however long the capture is and however many addresses are in it: tables are
// bounded, distinct clients and the list of the busiest are sketches that report how
// wrong they can be. It pairs no messages, raises no findings and prints nothing.
//
// What counts as what:
//
//	request     a message to a server: steps ask, again and echo, and one-way
//	            messages; not what a server sends unasked, such as log lines
//	reply       a message of a server to a client, challenges included
//	answered    exchanges that got their reply, in time or late
//	unanswered  exchanges whose wait ended inside the capture without one
//
// A request whose wait reaches beyond the end of the capture is in neither of the
// last two, and nothing is concluded from its silence.
package stats
