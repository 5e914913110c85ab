package packet

// Trace lists the headers of a frame whose bytes can be changed in place: addresses and
// checksums. A header that Decode could not read is not in it.
type Trace struct {
	n       int
	headers [maxHeaders]Header
}

// Header is a header of a frame together with what follows it in its packet: B points into
// the frame that was decoded, and ends where the packet does, or where the capture cut it.
type Header struct {
	Kind HeaderKind
	B    []byte
}

// HeaderKind is what a Header is.
type HeaderKind uint8

// The kinds.
const (
	HeaderEthernet HeaderKind = iota
	HeaderIPv4
	HeaderIPv6
	HeaderUDP
	HeaderTCP
)

// Headers lists the headers, outermost first, until the next Decode.
func (t *Trace) Headers() []Header { return t.headers[:t.n] }

// trace adds a header to p.Trace, if the caller of Decode wants them. Of more than
// maxHeaders, which no walk has, the innermost are not added.
func (p *Packet) trace(k HeaderKind, b []byte) {
	if t := p.Trace; t != nil && t.n < len(t.headers) {
		t.headers[t.n] = Header{k, b}
		t.n++
	}
}
