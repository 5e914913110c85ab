// Package extcap makes a capture of what the pipeline recognises: the packets of messages, as
// pcapng, with the reading of each message as the comment of its packet. Wireshark reads
// that from a pipe while it is captured. It decodes nothing itself.
//
// A Tap stands at both ends of the pipeline. As its source it passes packets on and keeps
// the last of them. Its renderer makes of each message a line with the frames that it came in,
// and as the writer that gets these lines the Tap writes the packets.
package extcap

import (
	"bytes"
	"io"
	"slices"
	"strconv"
	"sync"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/internal/render"
)

// Tap keeps packets until the messages in them are known.
type Tap struct {
	capture.Source
	// Out gets the packets. With the Tap as its WriteOptions.Interfaces, its statistics have
	// the packets that were missed, which is where Wireshark shows losses.
	Out    *file.Writer
	mu     sync.Mutex // the reader keeps packets while the fold writes them
	kept   kept
	rest   []byte    // of a line that is not whole
	part   []byte    // comment of the packets that brought parts of the message at work
	about  [1][]byte // comment of the packet at work
	missed uint64
}

// NewTap returns a Tap that passes the packets of src on. The caller sets Out.
func NewTap(src capture.Source) *Tap { return &Tap{Source: src, kept: newKept()} }

// Interfaces implements capture.Describer: packets that were missed are lost by the first
// interface. Wireshark has a process for each.
func (t *Tap) Interfaces() []capture.Interface {
	d, ok := t.Source.(capture.Describer)
	if !ok {
		return nil
	}
	all := slices.Clone(d.Interfaces())
	if len(all) > 0 {
		all[0].Dropped += t.missed
	}
	return all
}

// Read reads packets of the source, and keeps copies.
func (t *Tap) Read(b *capture.Batch) error {
	err := t.Source.Read(b)
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range b.Packets {
		t.kept.add(&b.Packets[i])
	}
	return err
}

// Missed returns how many packets of messages were not kept long enough to be written.
func (t *Tap) Missed() uint64 { return t.missed }

// Write takes what the renderer made, and writes the packets that it names. The error is
// that of the output.
func (t *Tap) Write(p []byte) (int, error) {
	t.rest = append(t.rest, p...)
	for {
		line, after, ok := bytes.Cut(t.rest, []byte{'\n'})
		if !ok {
			return len(p), t.Out.Flush()
		}
		if err := t.writeMessage(line); err != nil {
			return 0, err
		}
		t.rest = append(t.rest[:0], after...)
	}
}

// writeMessage writes the packets of a message that are not written yet: the ones that
// brought parts of it first, that which completed it with the reading.
func (t *Tap) writeMessage(line []byte) error {
	frames, reading, _ := bytes.Cut(line, []byte{'\t'})
	t.part = append(append(t.part[:0], "part of: "...), reading...)
	for more := true; more; {
		var word []byte
		word, frames, more = bytes.Cut(frames, []byte{','})
		frame, err := strconv.ParseUint(string(word), 10, 64)
		if err != nil {
			return err
		}
		comment := reading
		if more {
			comment = t.part
		}
		if err := t.writePacket(frame, comment); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tap) writePacket(frame uint64, comment []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, isWritten := t.kept.take(frame)
	switch {
	case isWritten:
		return nil
	case p == nil:
		t.missed++
		return nil
	}
	t.about[0] = comment
	return t.Out.WriteCommented(p, t.about[:])
}

// Renderer makes the lines that Write takes. Line renders the reading of a message.
type Renderer struct{ Line render.Renderer }

// Append appends the frames of e, its own last, and its reading.
func (r Renderer) Append(dst []byte, e *render.Event) []byte {
	if e.Record != "" {
		return dst // its messages were written
	}
	for _, frame := range e.Frames {
		if frame != e.Frame {
			dst = append(strconv.AppendUint(dst, frame, 10), ',')
		}
	}
	dst = append(strconv.AppendUint(dst, e.Frame, 10), '\t')
	start := len(dst)
	dst = r.Line.Append(dst, e)
	reading := bytes.TrimLeft(dst[start:], " 0123456789") // Wireshark has numbers of its own
	n := copy(dst[start:], bytes.TrimSpace(reading))
	return append(dst[:start+n], '\n')
}

// AppendRecord appends nothing: what is known later than its packet has no place in a stream.
func (Renderer) AppendRecord(dst []byte, _ *render.Record) []byte { return dst }

var _ io.Writer = (*Tap)(nil)

// kept is the last packets, with their bytes in one ring of memory.
type kept struct {
	packets     []keptPacket // of frame n at n modulo maxPackets
	first, next uint64       // frames first to next-1 are there; the first of all is 1
	bytes       []byte
	end         int // where the next packet's bytes go
}

type keptPacket struct {
	capture.Packet
	off       int
	isWritten bool
}

func newKept() kept {
	return kept{packets: make([]keptPacket, maxPackets), bytes: make([]byte, maxBytes), first: 1, next: 1}
}

func (k *kept) at(frame uint64) *keptPacket { return &k.packets[frame%maxPackets] }

// add keeps a copy of p, and evicts the oldest packets for it.
func (k *kept) add(p *capture.Packet) {
	n := len(p.Data)
	if k.end+n > len(k.bytes) {
		for k.first < k.next && k.at(k.first).off >= k.end {
			k.first++
		}
		k.end = 0
	}
	for k.first < k.next && k.overlaps(k.at(k.first), n) || k.next-k.first == maxPackets {
		k.first++
	}
	x := k.at(k.next)
	*x = keptPacket{Packet: *p, off: k.end}
	x.Data = k.bytes[k.end : k.end+n : k.end+n]
	copy(x.Data, p.Data)
	k.end += n
	k.next++
}

// overlaps reports whether x has bytes among the next n.
func (k *kept) overlaps(x *keptPacket, n int) bool {
	return x.off < k.end+n && x.off+len(x.Data) > k.end
}

// take returns the packet of a frame, nil if it is not kept, or reports that it was taken
// before. It is valid until the next add.
func (k *kept) take(frame uint64) (p *capture.Packet, before bool) {
	if frame < k.first || frame >= k.next {
		return nil, false
	}
	x := k.at(frame)
	if x.isWritten {
		return nil, true
	}
	x.isWritten = true
	return &x.Packet, false
}

// limit: packets are kept until the messages in them are known. A split message waits five seconds
// for its parts.
const (
	// maxPackets is how many packets are kept: 6,500 a second for as long as parts wait.
	maxPackets = 1 << 15
	// maxBytes is how many bytes of them: 512 a packet, more than most queries and replies have.
	maxBytes = 16 << 20
)
