package live

import (
	"errors"
	"io"
	"net"
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

	mu        sync.Mutex // held while Read uses what Close closes
	inputs    []*input
	waiter    waiter
	merge     merger
	nextInput int   // the input that is read first, in turn
	reads     uint  // since the start
	endError  error // why the capture ends, once what was captured is delivered
	bytesLeft int   // bytes that are still delivered then
	err       error // what Read returns from now on

	polls       int           // how often Read asks again before it returns without packets
	newest      int64         // time of the newest packet so far
	busy        bool          // an interface had as many packets as it might give
	caughtUp    bool          // it had, and they were new
	kernelDelay time.Duration // after which the kernel has delivered what it has
	rest        time.Duration // see wait
	sinceWait   int           // packets since the last wait
	stopped     atomic.Bool
	closed      atomic.Bool

	reopen        *Reopen                      // nil: the capture ends when an interface goes
	locate        func(target) (target, error) // locate, but in tests
	away          atomic.Int32                 // interfaces that went
	interruptions atomic.Uint64                // how often one did

	received, bytes atomic.Uint64
}

// input is an interface that is captured on.
type input struct {
	handle
	target
	presence
	iface      uint16 // Packet.Iface
	card       card
	cardBefore uint64 // packets that the devices before this one lost

	quietUntil int64 // packet time before which it is not asked while another is busy

	kernelDrops, cardDrops atomic.Uint64 // packets lost since the start
}

// handle is an interface that a backend has opened. It is not safe for concurrent
// use.
type handle interface {
	// read appends packets to b until it has most, or there is no room in its buffer,
	// or no packet is waiting. If none is, it takes as long as waits returns.
	read(b *capture.Batch, iface uint16, most int) error
	waits() time.Duration // 0: Source waits at the descriptor
	hasMore() bool        // after a read that had no room for more: packets are still waiting
	// drops returns how many packets the kernel had no room for since the handle was
	// opened. The count may be cardEvery calls old, unless now is set.
	drops(now bool) uint64
	link() uint16    // LINKTYPE_ value
	descriptor() int // readable when packets wait; negative: there is none
	// rebind captures on an interface that is back. Its link type must be the one of before.
	rebind(at target) error
	close()
}

// target is an interface of the system, or Any.
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

// Read fills b with what has been captured. It waits up to 100 ms (pollTimeout) for the
// first packet, then returns without any, so that the caller's time goes on. After Stop
// or Close it returns io.EOF; when an interface went down or vanished, an *Error with
// its name, unless Options.Reopen is set.
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
	s.prepareBatch(b)
	s.restLibpcap()
	if err := s.reopenInputs(); err != nil && s.endError == nil {
		s.beginEnd(err)
	}
	s.fillBatch(b)
	s.caughtUp = s.busy && !b.HasMore
	for left := s.polls; left > 0 && len(b.Packets) == 0 && s.endError == nil && !s.closed.Load(); left-- {
		s.wait()
		s.fillBatch(b)
	}
	s.sinceWait += len(b.Packets)
	if s.endError != nil {
		if s.bytesLeft -= len(b.Buf); len(b.Packets) == 0 || s.bytesLeft <= 0 {
			s.err = s.endError
		}
	}
	s.countBatch(b)
	return s.err
}

// restLibpcap sleeps during a flood that is read as fast as it comes. Without it the next read
// would find no packet and wait in C, which costs a third of all the time that the program
// takes for 100,000 queries a second: for each block the runtime wakes another thread.
func (s *Source) restLibpcap() {
	if s.backend == Libpcap && s.caughtUp {
		time.Sleep(s.rest)
	}
}

// wait waits for packets. After many it does nothing for a while first, so that there are many
// again: being woken for each block of a flood costs more than the packets in it. A sleeping
// goroutine costs less than one that waits in a call of the system, which the runtime watches.
//
// Handles that wait when they are read have done so.
func (s *Source) wait() {
	if s.backend == Libpcap && !s.isAlone() {
		return
	}
	if s.sinceWait >= capture.MaxPackets {
		s.sinceWait = 0
		time.Sleep(s.rest)
		return
	}
	s.sinceWait = 0
	s.waiter.wait(pollTimeout)
}

// prepareBatch gives a new batch its memory, and empties the buffer.
func (s *Source) prepareBatch(b *capture.Batch) {
	if cap(b.Packets) < capture.MaxPackets {
		b.Packets = make([]capture.Packet, 0, capture.MaxPackets)
	}
	if cap(b.Buf) < s.chunk {
		b.Buf = make([]byte, 0, s.chunk)
	}
	b.Buf = b.Buf[:0]
}

// batchBytesFor returns the length of the buffer of a batch of packets up to snap bytes.
func batchBytesFor(snap int) int { return min(batchBytes, capture.MaxPackets*(snap+addedLen)) }

// fillBatch collects what is waiting. When the capture ends meanwhile and nothing was
// waiting, it collects once more, for what the kernel delivered until then.
func (s *Source) fillBatch(b *capture.Batch) {
	if s.endError == nil && s.stopped.Load() {
		s.beginEnd(io.EOF)
	}
	going := s.endError == nil
	s.collect(b)
	if going && s.endError != nil && len(b.Packets) == 0 {
		s.collect(b)
	}
}

// beginEnd begins the end of the capture, for err: what was captured until now is still
// delivered. It waits until the kernel has handed over its last block.
func (s *Source) beginEnd(err error) {
	s.endError = err
	s.waiter.sleep(s.kernelDelay)
}

// collect reads the packets that wait at all interfaces. Each has its share of a batch,
// so that a flood at one does not delay the others.
//
// A handle without packets may take time to answer. While another interface is busy, such
// a one is asked again only once the packets of the others are quietSpan later.
func (s *Source) collect(b *capture.Batch) {
	share := max(capture.MaxPackets/len(s.inputs), 1)
	s.merge.reset()
	wasBusy := s.busy
	s.busy = false
	for i := range s.inputs {
		in := s.inputs[(s.nextInput+i)%len(s.inputs)]
		if wasBusy && in.quietUntil > s.newest {
			continue
		}
		start := len(b.Packets)
		err := in.read(b, in.iface, min(start+share, capture.MaxPackets))
		s.merge.addRun(start, len(b.Packets))
		switch n := len(b.Packets); {
		case n >= start+share:
			s.busy = true
			b.HasMore = b.HasMore || in.hasMore()
		case n == start && in.waits() > 0:
			in.quietUntil = s.newest + int64(quietSpan)
		}
		if n := len(b.Packets); n > start {
			s.newest = max(s.newest, b.Packets[n-1].Nanos)
		}
		if err != nil && s.endError == nil && !s.leave(in, err) {
			s.beginEnd(err)
		}
	}
	s.nextInput++
	s.merge.sortPackets(b)
}

// countBatch numbers the packets and updates the counts of lost ones.
func (s *Source) countBatch(b *capture.Batch) {
	n, sum := s.received.Load(), 0
	for i := range b.Packets {
		b.Packets[i].No = n + uint64(i) + 1
		sum += len(b.Packets[i].Data)
	}
	s.received.Add(uint64(len(b.Packets)))
	s.bytes.Add(uint64(sum))
	for _, in := range s.inputs {
		in.kernelDrops.Store(in.drops(s.err != nil))
		if s.reads%cardEvery == 0 || s.err != nil {
			in.cardDrops.Store(in.cardBefore + in.card.countMissed())
		}
	}
	s.reads++
}

// Stats counts what was delivered and what was lost until the last Read.
func (s *Source) Stats() capture.Stats {
	kernel, card := s.Drops()
	return capture.Stats{Received: s.received.Load(), Dropped: kernel + card, Bytes: int64(s.bytes.Load())}
}

// Drops returns how many packets were lost: by the kernel, because the program did not
// read them in time, and by network cards and their drivers, which ran out of buffers.
// The second count includes packets that the filter would have dropped. It is 0 where
// Any is captured on.
func (s *Source) Drops() (kernel, card uint64) {
	for _, in := range s.inputs {
		kernel += in.kernelDrops.Load()
		card += in.cardDrops.Load()
	}
	return kernel, card
}

// Interfaces describes what is captured on. Dropped is both kinds of Drops.
func (s *Source) Interfaces() []capture.Interface {
	all := append([]capture.Interface(nil), s.described...)
	for i, in := range s.inputs {
		all[i].Dropped = in.kernelDrops.Load() + in.cardDrops.Load()
	}
	return all
}

// Backend returns the backend that captures, which is never Auto.
func (s *Source) Backend() Backend { return s.backend }

// Stop ends the capture without loss: Read delivers what was captured until now, then
// returns io.EOF. Stop does not wait for that.
func (s *Source) Stop() {
	s.stopped.Store(true)
	s.waiter.wake()
}

// Close ends the capture at once: a Read that waits returns, and the next one returns
// io.EOF. Packets that were captured and not read are lost.
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

// The link types that captures have here, by their LINKTYPE_ value.
const (
	linkNull     uint16 = 0 // loopback of BSD and macOS
	linkEthernet uint16 = 1
	linkRaw      uint16 = 101
	linkSLL      uint16 = 113
	linkSLL2     uint16 = 276
)

const (
	sll2Len = 20 // bytes of the cooked header
	tagLen  = 4  // bytes of a VLAN tag
	macsLen = 12 // bytes before a tag in an Ethernet frame

	// addedLen is how many bytes at most are added to what the kernel captured.
	addedLen = sll2Len + tagLen
)

// Types of devices as the kernel numbers them (linux/if_arp.h).
const (
	arpEthernet = 1
	arpRawIP    = 519
	arpLoopback = 772
	arpNone     = 0xfffe // tun devices, WireGuard
)

// linkOf returns the link type that an interface is captured with. Devices whose header
// is none of these, or differs between kernels, are captured with a cooked header in its
// place.
func linkOf(t target) uint16 {
	switch {
	case t.index == 0:
		return linkSLL2
	case t.arp == arpEthernet, t.arp == arpLoopback:
		return linkEthernet
	case t.arp == arpNone, t.arp == arpRawIP:
		return linkRaw
	}
	return linkSLL2
}

// merger orders the packets of several interfaces by time. The order within an
// interface stays, also where the clock was set back between two packets.
type merger struct {
	runs    []run
	scratch []capture.Packet
}

// run is the packets of one interface in a batch, from index next up to end.
type run struct{ next, end int }

// reset begins a batch without runs.
func (m *merger) reset() { m.runs = m.runs[:0] }

// addRun adds the packets of an interface, if there are any.
func (m *merger) addRun(start, end int) {
	if start < end {
		m.runs = append(m.runs, run{start, end})
	}
}

// sortPackets puts the packets of b, which are those of the runs, in order.
func (m *merger) sortPackets(b *capture.Batch) {
	if len(m.runs) < 2 {
		return
	}
	if cap(m.scratch) < len(b.Packets) {
		m.scratch = make([]capture.Packet, 0, capture.MaxPackets)
	}
	out := m.scratch[:0]
	for len(m.runs) > 0 {
		best := 0
		for i := 1; i < len(m.runs); i++ {
			if b.Packets[m.runs[i].next].Nanos < b.Packets[m.runs[best].next].Nanos {
				best = i
			}
		}
		r := &m.runs[best]
		out = append(out, b.Packets[r.next])
		if r.next++; r.next == r.end {
			m.runs = append(m.runs[:best], m.runs[best+1:]...)
		}
	}
	m.scratch, b.Packets = b.Packets[:0], out
}

// Reopen has a capture go on when an interface goes down, is renamed or is deleted: Read returns empty batches, or the
// packets of the other interfaces, until an interface of that name is up again. The backend AFPacket needs no right for
// that. Libpcap needs the right to capture once more if the interface was deleted or renamed; without it the capture
// ends then, so that a manager of services starts the program again.
type Reopen struct {
	Clock  func() int64 // of a monotonic clock, in nanoseconds
	Report func(Change) // Read calls it once when an interface goes, and once when it is back
}

// Change is that an interface went, or is captured on again.
type Change struct {
	Interface string // as it is in Options
	Now       string // its name, where that is another one; an interface that is back may have been renamed
	Err       error  // why it went, an *Error; nil: it is back
}

// presence is whether an interface is there, of a capture with Reopen.
type presence struct {
	isAway bool
	since  int64         // Reopen.Clock when it went or came back
	next   int64         // Reopen.Clock of the next attempt
	pause  time.Duration // between the last attempt and the next one
}

// leave records that an interface went, for err. It returns false if the capture ends for that.
func (s *Source) leave(in *input, err error) bool {
	var gone *Error
	if s.reopen == nil || !errors.As(err, &gone) || !errors.Is(err, ErrDown) && !errors.Is(err, ErrVanished) {
		return false
	}
	if in.isAway {
		return true
	}
	now := s.reopen.Clock()
	if in.pause == 0 || now-in.since > int64(reopenCalm) {
		in.pause = reopenFirst
	}
	in.isAway, in.since, in.next = true, now, now+int64(in.pause)
	s.interruptions.Add(1)
	s.away.Add(1)
	s.reopen.Report(Change{Interface: in.name, Err: err})
	return true
}

// reopenInputs looks for the interfaces that went, once it is time for that. The error is why the capture ends.
func (s *Source) reopenInputs() error {
	if s.away.Load() == 0 {
		return nil
	}
	now := s.reopen.Clock()
	for _, in := range s.inputs {
		if !in.isAway || now < in.next {
			continue
		}
		in.pause = min(2*in.pause, reopenMost)
		in.next = now + int64(in.pause)
		at, err := s.locate(in.target)
		if err == nil {
			err = in.rebind(at)
		}
		switch {
		case err == nil:
			s.returned(in, at, now)
		case errors.Is(err, ErrDown), errors.Is(err, ErrVanished), errors.Is(err, ErrNoInterface):
		default:
			return err
		}
	}
	return nil
}

// returned records that an interface is captured on again, which is at now.
func (s *Source) returned(in *input, at target, now int64) {
	if at.index != in.index { // the counts of another device begin anew
		in.cardBefore += in.card.countMissed()
		in.card.close()
		in.card = card{}
		in.card.open(at)
	}
	change := Change{Interface: in.name}
	if at.name != in.name {
		change.Now = at.name
	}
	at.name = in.name
	in.target, in.isAway, in.since = at, false, now
	s.away.Add(-1)
	s.reopen.Report(change)
}

// isAlone reports whether all interfaces went: then no read waits for packets.
func (s *Source) isAlone() bool { return int(s.away.Load()) == len(s.inputs) }

// Interruptions returns how many interfaces the capture waits for, and how often one went since the start.
func (s *Source) Interruptions() (away int, all uint64) {
	return int(s.away.Load()), s.interruptions.Load()
}

// locate returns the interface that has the name of at now and is up, else the same device under another name.
func locate(at target) (target, error) {
	now, err := findTarget(at.name)
	if err == nil {
		return now, nil
	}
	f, byIndex := net.InterfaceByIndex(at.index)
	if byIndex != nil || f.Flags&net.FlagUp == 0 {
		return target{}, err
	}
	return targetOf(f), nil
}

// linkError is about an interface that came back as a device of another kind: captures and filters are made for one.
func linkError(name string) *Error {
	return &Error{Interface: name, Reason: "came back with another link type", Hint: "start again"}
}
