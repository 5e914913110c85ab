// Package notify reports to people and programs outside what was found: that an incident, or a
// finding, has begun, has changed and is over. It detects nothing, and sends nothing itself: what
// goes over the network, into files and to programs does so in a process of its own, with the
// sinks of package messenger.
//
//	fold                  Teller: events of flood.Incident and findings become Notes; a thread is
//	  |                   all Notes of one incident
//	  |  Queue            bounded, never blocks; what has no room is counted
//	  v
//	Messenger             a goroutine that writes Notes to the pipe of the other process
//	  |
//	  |  pipe             one JSON object a line
//	  v
//	messenger.Serve       a Queue and a worker for each sink
//
// The process that decodes hostile packets so needs no right to connect, to run programs or to
// read URLs, which are secrets; and that which has them never sees a packet.
package notify
