package manual

import "qsniff/dissect"

// common lists the members that a line of JSON has whatever the protocol. The renderer
// writes them and no dissector declares them, so there is no definition to take them
// from; a test compares them with what the renderer writes. The name of an object's
// member comes after that of the object and a dot.
var common = []Field{
	newMember("schema", dissect.Uint, "", "version of the output format: 1"),
	newMember("record", dissect.Text, "", "what kind of line it is; a line without it is a message"),
	newMember("frame", dissect.Uint, "", "number of the packet that completed the message, from 1 over all inputs"),
	newMember("frames", dissect.List, "", "numbers of all packets it came in, where there are several"),
	newMember("frames_ms", dissect.Float, "ms", "time from the first of them to the last"),
	newMember("file", dissect.Uint, "", "which of several inputs it came from, from 0"),
	newMember("interface", dissect.Uint, "", "interface number, where the capture names any"),
	newMember("interface_name", dissect.Text, "", "name of that interface"),
	newMember("time", dissect.Text, "", "time of that packet in UTC, RFC 3339"),
	newMember("transport", dissect.Text, "", "udp or tcp"),
	newMember("src", dissect.Addr, "", "sender's address and port"),
	newMember("dst", dissect.Addr, "", "receiver's address and port"),
	newMember("community_id", dissect.Text, "", "Community ID 1 of the flow, as other tools write it"),
	newMember("protocol", dissect.Text, "", "protocol of the message"),
	newMember("message", dissect.Text, "", "type of the message, or null: qsniff fields --messages lists them"),
	newMember("direction", dissect.Text, "", "request or reply; one-way messages are requests"),
	newMember("status", dissect.Text, "", "complete; truncated by the capture; malformed by the sender; or fragment: a set that stayed incomplete"),
	newMember("weak", dissect.Text, "", "true where nothing but the payload's own few bytes says what it is"),
	newMember("length", dissect.Uint, "bytes", "length of the message as it was sent, after joining and decompression"),
	newMember("captured", dissect.Uint, "bytes", "how much of it is in the capture, where that is less"),
	newMember("stopped", dissect.Group, "", "where decoding ended early"),
	newMember("stopped.field", dissect.Text, "", "name of the first field that could not be read"),
	newMember("stopped.offset", dissect.Uint, "bytes", "where in the message it should be"),
	newMember("incomplete", dissect.Text, "", "what became of the rest of a fragment"),
	newMember("split", dissect.Group, "", "how the engine split the message"),
	newMember("split.engine", dissect.Text, "", "source or goldsource"),
	newMember("split.id", dissect.Uint, "", "number that the parts share, without the compression bit"),
	newMember("split.total", dissect.Uint, "", "how many parts there are"),
	newMember("split.received", dissect.Uint, "", "how many of them are in the capture"),
	newMember("split.size_field", dissect.Uint, "bytes", "the header's part size, where it has one"),
	newMember("split.compressed", dissect.Text, "", "true where the parts hold a bzip2 stream"),
	newMember("split.declared_size", dissect.Uint, "bytes", "length of the message that the stream holds, as declared"),
	newMember("split.crc32", dissect.Uint, "", "CRC-32 of that message, as declared"),
	newMember("exchange", dissect.Group, "", "the request and the replies that the message belongs to, where the capture shows them"),
	newMember("exchange.id", dissect.Uint, "", "frame of its first request"),
	newMember("exchange.request_frame", dissect.Uint, "", "of a reply: frame of the request that it replies to"),
	newMember("exchange.rtt_ms", dissect.Float, "ms", "of a reply: time from that request to its first packet"),
	newMember("exchange.challenge_ms", dissect.Float, "ms", "of an answer: round trip of the challenge before it"),
	newMember("via", dissect.List, "", "tags, labels and tunnels around the packet, outermost first"),
	newMember("via.kind", dissect.Text, "", "kind of tag, label or tunnel"),
	newMember("via.id", dissect.Uint, "", "its number, where it has one"),
	newMember("via.src", dissect.Addr, "", "where a tunnel begins"),
	newMember("via.dst", dissect.Addr, "", "where it ends"),
	newMember("comments", dissect.List, "", "what somebody wrote about the packet in a pcapng file"),
	newMember("fields", dissect.Group, "", "the fields of the protocol, by the last part of their names"),
	newMember("findings", dissect.List, "", "what is not as it should be, as known when the message completed"),
	newMember("findings.id", dissect.Text, "", "stable id: qsniff explain ID"),
	newMember("findings.severity", dissect.Text, "", "error, warn, note or chat"),
	newMember("findings.fault", dissect.Text, "", "client, server, path, middlebox or capture"),
	newMember("findings.text", dissect.Text, "", "the finding in a sentence, with its numbers"),
	newMember("layout", dissect.List, "", "with --layout: every captured byte with its field"),
	newMember("layout.name", dissect.Text, "", "name of the field"),
	newMember("layout.offset", dissect.Uint, "bytes", "where it begins in the message"),
	newMember("layout.length", dissect.Uint, "bytes", "how long it is"),
	newMember("layout.hex", dissect.Text, "", "its bytes; ** for those of a secret"),
	newMember("layout.value", dissect.Text, "", "its value"),
	newMember("layout.note", dissect.Text, "", "what the value means"),
	newMember("layout.aux", dissect.Text, "", "true where it was decoded from unescaped bytes: not a byte of the message"),
}

func newMember(name string, kind dissect.Kind, unit, doc string) Field {
	return Field{Name: name, Kind: kinds[kind], Flags: []string{}, Unit: unit, Doc: doc}
}
