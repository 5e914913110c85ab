package manual

import "qsniff/dissect"

// common are the members that a line of JSON has whatever the protocol. They are
// the renderer's, not a dissector's, so there is no definition to take them from;
// a test compares them with what the renderer writes. Members of objects stand
// after a dot.
var common = []Field{
	member("schema", dissect.Uint, "", "version of the output format: 1"),
	member("record", dissect.Text, "", "what kind of line it is; a line without it is a message"),
	member("frame", dissect.Uint, "", "number of the packet that completed the message, from 1 over all inputs"),
	member("frames", dissect.List, "", "numbers of all packets it came in, where there are several"),
	member("frames_ms", dissect.Float, "ms", "time from the first of them to the last"),
	member("file", dissect.Uint, "", "which of several inputs it came from, from 0"),
	member("interface", dissect.Uint, "", "interface number, where the capture names any"),
	member("interface_name", dissect.Text, "", "name of that interface"),
	member("time", dissect.Text, "", "time of that packet in UTC, RFC 3339"),
	member("transport", dissect.Text, "", "udp or tcp"),
	member("src", dissect.Addr, "", "sender's address and port"),
	member("dst", dissect.Addr, "", "receiver's address and port"),
	member("community_id", dissect.Text, "", "Community ID 1 of the flow, as other tools write it"),
	member("protocol", dissect.Text, "", "protocol of the message"),
	member("message", dissect.Text, "", "type of the message, or null: qsniff fields --messages lists them"),
	member("direction", dissect.Text, "", "request or reply; one-way messages are requests"),
	member("status", dissect.Text, "", "complete; truncated by the capture; malformed by the sender; or fragment: a set that stayed incomplete"),
	member("weak", dissect.Text, "", "true where nothing but the payload's own few bytes says what it is"),
	member("length", dissect.Uint, "bytes", "length of the message as it was sent, after joining and decompression"),
	member("captured", dissect.Uint, "bytes", "how much of it is in the capture, where that is less"),
	member("stopped", dissect.Group, "", "where decoding ended early"),
	member("stopped.field", dissect.Text, "", "name of the first field that could not be read"),
	member("stopped.offset", dissect.Uint, "bytes", "where in the message it should be"),
	member("incomplete", dissect.Text, "", "what became of the rest of a fragment"),
	member("split", dissect.Group, "", "how the engine split the message"),
	member("split.engine", dissect.Text, "", "source or goldsource"),
	member("split.id", dissect.Uint, "", "number that the parts share, without the compression bit"),
	member("split.total", dissect.Uint, "", "how many parts there are"),
	member("split.received", dissect.Uint, "", "how many of them are in the capture"),
	member("split.size_field", dissect.Uint, "bytes", "the header's part size, where it has one"),
	member("split.compressed", dissect.Text, "", "true where the parts hold a bzip2 stream"),
	member("split.declared_size", dissect.Uint, "bytes", "length of the message that the stream holds, as declared"),
	member("split.crc32", dissect.Uint, "", "CRC-32 of that message, as declared"),
	member("exchange", dissect.Group, "", "the request and the replies that the message belongs to, where the capture shows them"),
	member("exchange.id", dissect.Uint, "", "frame of its first request"),
	member("exchange.request_frame", dissect.Uint, "", "of a reply: frame of the request that it replies to"),
	member("exchange.rtt_ms", dissect.Float, "ms", "of a reply: time from that request to its first packet"),
	member("exchange.challenge_ms", dissect.Float, "ms", "of an answer: round trip of the challenge before it"),
	member("via", dissect.List, "", "tags, labels and tunnels around the packet, outermost first"),
	member("via.kind", dissect.Text, "", "kind of tag, label or tunnel"),
	member("via.id", dissect.Uint, "", "its number, where it has one"),
	member("via.src", dissect.Addr, "", "where a tunnel begins"),
	member("via.dst", dissect.Addr, "", "where it ends"),
	member("comments", dissect.List, "", "what somebody wrote about the packet in a pcapng file"),
	member("fields", dissect.Group, "", "the fields of the protocol, by the last part of their names"),
	member("findings", dissect.List, "", "what is not as it should be, as known when the message completed"),
	member("findings.id", dissect.Text, "", "stable id: qsniff explain ID"),
	member("findings.severity", dissect.Text, "", "error, warn, note or chat"),
	member("findings.fault", dissect.Text, "", "client, server, path, middlebox or capture"),
	member("findings.text", dissect.Text, "", "the finding in a sentence, with its numbers"),
	member("layout", dissect.List, "", "with --layout: every captured byte with its field"),
	member("layout.name", dissect.Text, "", "name of the field"),
	member("layout.offset", dissect.Uint, "bytes", "where it begins in the message"),
	member("layout.length", dissect.Uint, "bytes", "how long it is"),
	member("layout.hex", dissect.Text, "", "its bytes; ** for those of a secret"),
	member("layout.value", dissect.Text, "", "its value"),
	member("layout.note", dissect.Text, "", "what the value means"),
	member("layout.aux", dissect.Text, "", "true where it was decoded from unescaped bytes: not a byte of the message"),
}

func member(name string, kind dissect.Kind, unit, doc string) Field {
	return Field{Name: name, Kind: kinds[kind], Flags: []string{}, Unit: unit, Doc: doc}
}
