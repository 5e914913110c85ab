// Package dissect turns one datagram, or one record of a stream, into a flat
// list of annotated fields. It knows bytes, not packets: no sockets, no clocks,
// no I/O. Between messages it keeps nothing, but for what a protocol over TCP
// wants to know of a connection (Session). Joining is reassembly's work, pairing
// and memory are track's, and how a field looks is a renderer's.
//
// # To add a protocol
//
//  1. Make the folder dissect/<proto> with doc.go: the drawing of every
//     message, its variants, the sources, the open questions.
//  2. defs.go: a table of Def, one for each field of the wire. Names are output
//     format ("a2s.info.map"); renderers, filters and the manual read them
//     here and nowhere else.
//  3. codes.go: a table of finding.Code, one for each thing that can be wrong.
//  4. One file for each message type, reading with a Cursor and with nothing
//     else: it cannot read out of bounds, it turns every byte into a field, and
//     it tells a cut capture from a malformed message by itself. Values in
//     another form than the wire's, escaped or inside a text, are added behind
//     with Parts or Inner.
//  5. Probe: recognise by structure; a port is the Registry's business. Over TCP
//     it is Frame and Resync, which find the messages in a stream.
//  6. One line in dissect/protocols.
//  7. Captures in pcapfiles/<proto>: text sources, written and judged by
//     make golden.
package dissect
