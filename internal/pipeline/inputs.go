package pipeline

import (
	"io"
	"io/fs"
	"net/netip"
	"os"
	"sync"

	"qsniff/capture"
	"qsniff/capture/packet"
)

// inputs names the files and interfaces that packets come from, and finds the comments
// and gaps of a batch that belong to a packet.
type inputs struct {
	source     capture.Describer // nil if the source does not describe its interfaces
	all        []capture.Interface
	hasSeveral bool // an input has more than one interface
	wasAsked   bool // source was asked for its interfaces in this batch
	file       uint16
	iface      uint16
	found      int     // index of the interface of file and iface, or -1: packets come in runs
	last       *origin // of the packet before, in the same batch; nil: there is none

	gap      int      // index of the batch's next gap
	comment  int      // index of its next comment
	comments [][]byte // of the packet at hand
}

// begin prepares for the packets of a new batch.
func (in *inputs) begin() {
	in.gap, in.comment, in.comments, in.wasAsked, in.last = 0, 0, nil, false, nil
}

// find sets found to the index of an interface. Files may describe interfaces between
// packets, so the source is asked again for one that is not known, once in a batch.
func (in *inputs) find(file, iface uint16) {
	if in.found >= 0 && in.file == file && in.iface == iface || in.source == nil {
		return
	}
	in.file, in.iface, in.found = file, iface, in.index(file, iface)
	if in.found >= 0 || in.wasAsked {
		return
	}
	in.all, in.wasAsked = in.source.Interfaces(), true
	for i := range in.all {
		in.hasSeveral = in.hasSeveral || in.all[i].Index > 0
	}
	in.found = in.index(file, iface)
}

func (in *inputs) index(file, iface uint16) int {
	for i := range in.all {
		if in.all[i].File == file && in.all[i].Index == iface {
			return i
		}
	}
	return -1
}

// originOf returns where a packet came from; one origin stands for a run of packets of b. A
// single interface without a name, as in every classic pcap file, is not worth mentioning.
func (in *inputs) originOf(p *capture.Packet, b *batch) *origin {
	if x := in.last; x != nil && x.file == p.File && x.iface == p.Iface && in.found >= 0 &&
		len(in.comments) == 0 && len(x.comments) == 0 {
		return x
	}
	from := origin{file: p.File, iface: p.Iface, comments: in.comments}
	in.find(p.File, p.Iface)
	if in.found >= 0 {
		from.name = in.all[in.found].Name
		from.known = in.hasSeveral || from.name != ""
	}
	b.origins = append(b.origins, from)
	in.last = &b.origins[len(b.origins)-1]
	return in.last
}

// collectComments appends the comments about packet i of a batch to notes.
func (in *inputs) collectComments(raw *capture.Batch, i int, notes [][]byte) [][]byte {
	in.comments = nil
	start := len(notes)
	for ; in.comment < len(raw.Comments) && raw.Comments[in.comment].At <= i; in.comment++ {
		notes = append(notes, raw.Comments[in.comment].Text)
	}
	if n := len(notes); n > start {
		in.comments = notes[start:n:n]
	}
	return notes
}

// nextGap returns the next gap that precedes packet i of a batch, nil if there is none.
func (in *inputs) nextGap(raw *capture.Batch, i int) *capture.Gap {
	if in.gap == len(raw.Gaps) || raw.Gaps[in.gap].At > i {
		return nil
	}
	in.gap++
	return &raw.Gaps[in.gap-1]
}

const (
	// aheadBuffers is how many buffers a reader may be ahead: one being filled,
	// one being taken apart, and two between them, for inputs that come in
	// bursts.
	aheadBuffers = 4

	// aheadBytes is the size of each, in bytes: large against the cost of
	// handing it over, and all four together stay in a second-level cache.
	aheadBytes = 128 << 10

	// maxEmptyReads is how many times in a row in may return neither bytes nor
	// an error: as many as in bufio.
	maxEmptyReads = 100
)

// ReadAhead returns a reader of what in reads, with in read by a goroutine of
// its own, such as a decompressor beside the decoding of what it expands to. It
// hands over what each read of in brings, so that an input that stops for a
// while holds nothing back.
//
// Close ends the goroutine, but does not close in and does not wait for a read
// of it that is under way. in must not be used by anybody else until then.
func ReadAhead(in io.Reader) io.ReadCloser {
	a := &aheadReader{
		full:  make(chan chunk, aheadBuffers),
		empty: make(chan []byte, aheadBuffers),
		done:  make(chan struct{}),
	}
	for range aheadBuffers {
		a.empty <- make([]byte, aheadBytes)
	}
	go a.fillBuffers(in)
	return a
}

// aheadReader is the reader that ReadAhead returns.
type aheadReader struct {
	full  chan chunk
	empty chan []byte
	done  chan struct{}
	close sync.Once

	now  chunk  // the one that is being read
	left []byte // bytes of now that were not read yet
}

// chunk is the result of one read: n bytes in buf, and its error.
type chunk struct {
	buf []byte
	n   int
	err error
}

// fillBuffers reads in until its end or Close.
func (a *aheadReader) fillBuffers(in io.Reader) {
	for {
		var c chunk
		select {
		case c.buf = <-a.empty:
		case <-a.done:
			return
		}
		for tries := 0; c.n == 0 && c.err == nil; tries++ {
			if c.n, c.err = in.Read(c.buf); tries == maxEmptyReads {
				c.err = io.ErrNoProgress
			}
		}
		select {
		case a.full <- c:
		case <-a.done:
			return
		}
		if c.err != nil {
			return
		}
	}
}

// Read returns what has been read, or waits for it.
func (a *aheadReader) Read(b []byte) (int, error) {
	for len(a.left) == 0 {
		if a.now.err != nil {
			return 0, a.now.err
		}
		if a.now.buf != nil {
			a.empty <- a.now.buf
			a.now.buf = nil
		}
		select {
		case a.now = <-a.full:
			a.left = a.now.buf[:a.now.n]
		case <-a.done:
			return 0, fs.ErrClosed
		}
	}
	n := copy(b, a.left)
	a.left = a.left[n:]
	return n, nil
}

// Close ends reading.
func (a *aheadReader) Close() error {
	a.close.Do(func() { close(a.done) })
	return nil
}

// Pipe returns the end of a pipe from which what in reads can be read, for
// libraries that read files only. A goroutine fills the pipe until in ends or
// the pipe is closed.
func Pipe(in io.Reader) (*os.File, error) {
	out, feed, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	go func() {
		// An error of in ends the pipe, as its end would; the caller
		// gets it from in.
		io.Copy(feed, in)
		feed.Close()
	}()
	return out, nil
}

// PayloadSource is a capture.Source of payloads that were not captured: of datagrams and
// of TCP connections, whose ends the caller chooses, and whole packets among them. Its
// time stamps have no meaning. The zero value is ready to use.
type PayloadSource struct {
	packets []capture.Packet
	layers  []packet.Packet // of each packet; those of a whole packet are empty: it has to be decoded
	decoded int             // number of packets that were decoded
	conns   map[[2]netip.AddrPort]*sequence
}

// sequence is the next sequence number of either end of a connection.
type sequence struct{ client, server uint32 }

// payloadStep is the packet time between two payloads in nanoseconds. Chosen: so short
// that 512 of them come within the time for which parts of a message wait.
const payloadStep = 5_000_000

// decoder is implemented by sources that have the network layers of their packets.
type decoder interface {
	Decode(p *packet.Packet, raw *capture.Packet)
}

// AddPacket adds a whole packet of link type link, wire bytes long, of which data was
// captured. no is its frame number.
func (s *PayloadSource) AddPacket(no uint64, link uint16, data []byte, wire int) {
	s.packets = append(s.packets, capture.Packet{No: no, Nanos: int64(len(s.packets)+1) * payloadStep,
		Data: data, Wire: uint32(max(wire, len(data))), Link: link})
	s.layers = append(s.layers, packet.Packet{})
}

// AddDatagram adds the payload of a UDP datagram.
func (s *PayloadSource) AddDatagram(no uint64, src, dst netip.AddrPort, payload []byte) {
	s.add(no, &packet.Packet{Src: src, Dst: dst, Proto: packet.ProtoUDP}, payload)
}

// AddSegment adds bytes that one end of a TCP connection sends. Before the first ones it
// adds the SYNs of both ends, with the same frame number.
func (s *PayloadSource) AddSegment(no uint64, client, server netip.AddrPort, toServer bool, payload []byte) {
	if s.conns == nil {
		s.conns = map[[2]netip.AddrPort]*sequence{}
	}
	q := s.conns[[2]netip.AddrPort{client, server}]
	if q == nil {
		q = &sequence{client: 1, server: 1} // after both SYNs, which are 0
		s.conns[[2]netip.AddrPort{client, server}] = q
		s.addSegment(no, client, server, packet.TCPHeader{Flags: packet.FlagSYN}, nil)
		s.addSegment(no, server, client, packet.TCPHeader{Ack: q.client, Flags: packet.FlagSYN | packet.FlagACK}, nil)
	}
	if toServer {
		s.addSegment(no, client, server, packet.TCPHeader{Seq: q.client, Ack: q.server, Flags: packet.FlagACK}, payload)
		q.client += uint32(len(payload))
		return
	}
	s.addSegment(no, server, client, packet.TCPHeader{Seq: q.server, Ack: q.client, Flags: packet.FlagACK}, payload)
	q.server += uint32(len(payload))
}

func (s *PayloadSource) addSegment(no uint64, src, dst netip.AddrPort, header packet.TCPHeader, payload []byte) {
	s.add(no, &packet.Packet{Src: src, Dst: dst, Proto: packet.ProtoTCP, Stop: packet.TCP, TCP: header}, payload)
}

// add adds a payload with the layers that a packet would have around it.
func (s *PayloadSource) add(no uint64, layers *packet.Packet, payload []byte) {
	s.AddPacket(no, 0, payload, 0)
	layers.Payload, layers.Wire = payload, len(payload)
	s.layers[len(s.layers)-1] = *layers
}

// Decode decodes the next packet, which is raw, into p. It keeps p.Outer.
func (s *PayloadSource) Decode(p *packet.Packet, raw *capture.Packet) {
	layers := &s.layers[s.decoded]
	if s.decoded++; layers.Proto == 0 {
		p.Decode(raw.Link, raw.Data, int(raw.Wire))
		return
	}
	outer := p.Outer
	*p = *layers
	p.Outer = outer
}

// Read returns all packets at once. Their Data is that of the calls that added them.
func (s *PayloadSource) Read(b *capture.Batch) error {
	b.Reset()
	b.Packets = append(b.Packets, s.packets...)
	return io.EOF
}

// Stats returns the number of packets.
func (s *PayloadSource) Stats() capture.Stats { return capture.Stats{Received: uint64(len(s.packets))} }

// Close does nothing.
func (s *PayloadSource) Close() error { return nil }
