// Package dissect turns one datagram, or one record of a stream, into a flat
// list of annotated fields. It knows bytes, not packets: no sockets, no clocks,
// no I/O. Between messages it keeps nothing, but for what a protocol over TCP
// wants to know of a connection (Session). Joining is reassembly's work, pairing
// and memory are track's, and how a field looks is a renderer's.
//
// A Dissector handles the datagrams of a protocol, a StreamDissector its connections. What
// else there is to say of a protocol is declared in its Proto and its Types, and is read by
// everybody: patterns (Pattern) by packet filters and rules of firewalls, tokens (Token) by
// who looks for proofs, roles (Asked) by who counts questions, sentences (Operator) by who
// gives advice.
//
// Package example is a protocol to begin with; CONTRIBUTING.md has the steps.
package dissect
