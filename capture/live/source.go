package live

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"qsniff/capture"
)

// Source delivers packets as they are captured. Read is for one goroutine; the
// other methods may be called from any.
type Source struct {
	backend   Backend
	described []capture.Interface
	chunk     int // bytes of a batch's buffer

	mu     sync.Mutex // held while Read uses what Close takes away
	inputs []*input
	waiter waiter
	merge  merger
	first  int   // the input that is asked first, in turn
	reads  uint  // since the start
	ending error // why the capture ends, once what was captured is delivered
	left   int   // bytes that are still delivered then
	err    error // what Read returns from now on

	settle  time.Duration // after which the kernel has delivered what it has
	stopped atomic.Bool
	closed  atomic.Bool

	received, bytes atomic.Uint64
}

// input is an interface that is captured on.
type input struct {
	handle
	target
	iface uint16 // Packet.Iface
	card  card

	kernel, missed atomic.Uint64 // packets lost since the start
}

// handle is an interface that a backend has opened. It is not safe for concurrent
// use.
type handle interface {
	// read appends packets to b until it has max, or there is no room in its buffer,
	// or none is waiting. It never blocks.
	read(b *capture.Batch, iface uint16, max int) error
	// drops is how many packets the kernel had no room for since it was opened.
	drops() uint64
	link() uint16    // LINKTYPE_ value
	descriptor() int // readable when packets wait
	close()
}

// target is an interface as the system knows it.
type target struct {
	name  string
	index int // 0: any
	arp   uint16
	loop  bool
}

var (
	_ capture.Source    = (*Source)(nil)
	_ capture.Describer = (*Source)(nil)
)

// Read fills b with what has been captured. It waits 100 ms for the first packet and
// then returns without any, so that the caller's time goes on. After Stop or Close it
// returns io.EOF; when an interface went down or vanished, an *Error with its name.
func (s *Source) Read(b *capture.Batch) error {
	b.Reset()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() {
		return io.EOF
	}
	if s.err != nil {
		return s.err
	}
	s.prepare(b)
	s.fill(b)
	if len(b.Packets) == 0 && s.ending == nil {
		s.waiter.wait(pollTimeout)
		s.fill(b)
	}
	if s.ending != nil {
		if s.left -= len(b.Buf); len(b.Packets) == 0 || s.left <= 0 {
			s.err = s.ending
		}
	}
	s.count(b)
	return s.err
}

// prepare gives a new batch its memory.
func (s *Source) prepare(b *capture.Batch) {
	if cap(b.Packets) < capture.MaxPackets {
		b.Packets = make([]capture.Packet, 0, capture.MaxPackets)
	}
	if cap(b.Buf) < s.chunk {
		b.Buf = make([]byte, 0, s.chunk)
	}
	b.Buf = b.Buf[:0]
}

// chunkFor is the buffer of a batch of packets up to snap bytes.
func chunkFor(snap int) int { return min(batchBytes, capture.MaxPackets*(snap+putFront)) }

// fill takes what is there, and at the end what comes until then.
func (s *Source) fill(b *capture.Batch) {
	if s.ending == nil && s.stopped.Load() {
		s.end(io.EOF)
	}
	going := s.ending == nil
	s.collect(b)
	if going && s.ending != nil && len(b.Packets) == 0 {
		s.collect(b)
	}
}

// end begins the end: what was captured until now is still delivered. The kernel
// hands over its last block when Delay is over.
func (s *Source) end(err error) {
	s.ending = err
	s.waiter.rest(s.settle)
}

// collect takes what waits at all interfaces. Each has its share of a batch, so that
// a flood at one does not keep the others waiting.
func (s *Source) collect(b *capture.Batch) {
	share := max(capture.MaxPackets/len(s.inputs), 1)
	s.merge.begin()
	for i := range s.inputs {
		in := s.inputs[(s.first+i)%len(s.inputs)]
		start := len(b.Packets)
		err := in.read(b, in.iface, min(start+share, capture.MaxPackets))
		s.merge.run(start, len(b.Packets))
		if err != nil && s.ending == nil {
			s.end(err)
		}
	}
	s.first++
	s.merge.sort(b)
}

// count numbers the packets and looks up what was lost.
func (s *Source) count(b *capture.Batch) {
	n, sum := s.received.Load(), 0
	for i := range b.Packets {
		b.Packets[i].No = n + uint64(i) + 1
		sum += len(b.Packets[i].Data)
	}
	s.received.Add(uint64(len(b.Packets)))
	s.bytes.Add(uint64(sum))
	for _, in := range s.inputs {
		in.kernel.Store(in.drops())
		if s.reads%cardEvery == 0 || s.err != nil {
			in.missed.Store(in.card.missed())
		}
	}
	s.reads++
}

// Stats counts what was delivered and what was lost until the last Read.
func (s *Source) Stats() capture.Stats {
	kernel, card := s.Drops()
	return capture.Stats{Received: s.received.Load(), Dropped: kernel + card, Bytes: int64(s.bytes.Load())}
}

// Drops are packets that were lost: by the kernel, because the program did not fetch
// them in time, and by network cards and their drivers, which ran out of buffers. The
// second are not all packets of interest: the filter has not seen them. Cards are not
// asked where Any is captured on.
func (s *Source) Drops() (kernel, card uint64) {
	for _, in := range s.inputs {
		kernel += in.kernel.Load()
		card += in.missed.Load()
	}
	return kernel, card
}

// Interfaces describes what is captured on. Dropped is both kinds of Drops.
func (s *Source) Interfaces() []capture.Interface {
	all := append([]capture.Interface(nil), s.described...)
	for i, in := range s.inputs {
		all[i].Dropped = in.kernel.Load() + in.missed.Load()
	}
	return all
}

// Backend is the one that was chosen.
func (s *Source) Backend() Backend { return s.backend }

// Stop ends the capture in order: Read delivers what was captured until now, and
// then io.EOF. It does not wait for that.
func (s *Source) Stop() {
	s.stopped.Store(true)
	s.waiter.wake()
}

// Close ends the capture at once: a Read that waits returns, and the next one returns
// io.EOF. What was captured and not read is lost.
func (s *Source) Close() error {
	s.closed.Store(true)
	s.waiter.wake()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, in := range s.inputs {
		if in.handle != nil {
			in.handle.close()
			in.card.close()
			in.handle = nil
		}
	}
	s.waiter.close()
	return nil
}
