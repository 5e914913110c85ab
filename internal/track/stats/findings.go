package stats

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"

	"qsniff/dissect/finding"
	"qsniff/internal/base/hostset"
	"qsniff/internal/base/lru"
	"qsniff/internal/track"
)

// FindingOptions choose which findings are kept. The zero value keeps all.
type FindingOptions struct {
	Ours  *hostset.Set     // servers whose findings count; nil: all
	Least finding.Severity // milder findings are counted only
	Scale float64          // of the tables, as a multiple of the usual; 0: the usual
}

// FindingCollector keeps one finding of each kind between the same two hosts, and counts its
// repeats. It implements track.Listener.
type FindingCollector struct {
	opt FindingOptions
	// kept is a table for each severity: a flood that makes notes cannot evict errors.
	kept    [finding.Error + 1]*lru.Table[repeatKey, Repeats]
	numbers map[*finding.Code]uint32
	rooms   []uint64 // for the first frame of findings that are new
	evicted map[evictedKey]*Repeats
	sum     FindingSummary
}

// FindingSummary is what a FindingCollector has at the end of a run.
type FindingSummary struct {
	// Repeats are the worst first, then the most frequent. Those of pairs that were evicted are
	// added up at the end, by code.
	Repeats  []Repeats
	Counts   [finding.Error + 1]uint64 // findings by severity, kept or not
	Messages uint64                    // of the servers in FindingOptions.Ours
	Evicted  uint64                    // times that a server and a client were evicted with what was found between them
}

// Repeats is a finding and how often it was made between the same two hosts.
type Repeats struct {
	Expert finding.Expert // the first one
	Detail []byte         // of the first one, see track.Found
	// Server and Client are not valid where the finding is about neither. The port of Client is
	// 0 where it has several.
	Server, Client netip.AddrPort
	First, Last    int64  // Unix nanoseconds of the packets that decided the first and the last one
	Frame          uint64 // the packet of First
	Frames         []uint64
	Count          uint64
	Evicted        uint64 // how many pairs that had no room in the table this is the sum of
}

// repeatKey is a kind of finding and the two hosts that it is about.
type repeatKey struct {
	pair pairKey
	code uint32
}

// Hash mixes the key.
func (k repeatKey) Hash(seed uint64) uint64 { return lru.Mix(k.pair.Hash(seed), uint64(k.code)) }

type evictedKey struct {
	code     *finding.Code
	severity finding.Severity
}

// NewFindingCollector returns an empty collector.
func NewFindingCollector(opt FindingOptions) *FindingCollector {
	if opt.Scale == 0 {
		opt.Scale = 1
	}
	c := &FindingCollector{opt: opt, numbers: map[*finding.Code]uint32{}, evicted: map[evictedKey]*Repeats{}}
	for i := range c.kept {
		c.kept[i] = lru.New[repeatKey, Repeats](int(maxRepeats * opt.Scale))
	}
	return c
}

// AddFact adds the findings of a message.
func (c *FindingCollector) AddFact(f *track.Fact, found []track.Found, _ *track.ServerInfo) {
	if !c.opt.Ours.Has(f.Server) {
		return
	}
	if f.Step != track.Silence {
		c.sum.Messages++
	}
	for i := range found {
		c.add(f.Frame, f.Nanos, f.Server, f.Client, &found[i])
	}
}

// AddFinding adds a finding that belongs to no message. One about a server that is not in
// FindingOptions.Ours does not count.
func (c *FindingCollector) AddFinding(frame uint64, nanos int64, server, client netip.AddrPort, found track.Found) {
	if !server.IsValid() || c.opt.Ours.Has(server) {
		c.add(frame, nanos, server, client, &found)
	}
}

func (c *FindingCollector) add(frame uint64, nanos int64, server, client netip.AddrPort, found *track.Found) {
	severity := found.Severity
	c.sum.Counts[severity]++
	if severity < c.opt.Least {
		return
	}
	code, ok := c.numbers[found.Code]
	if !ok { // stages declare a fixed number of codes
		code = uint32(len(c.numbers))
		c.numbers[found.Code] = code
	}
	k := repeatKey{pairKey{server.Addr().As16(), client.Addr().As16(), server.Port()}, code}
	r, gone := c.kept[severity].Put(k)
	if gone != nil {
		c.sum.Evicted++
		c.addEvicted(&gone.Val)
		r.Detail, r.Frames = gone.Val.Detail[:0], gone.Val.Frames[:0] // their memory is used again
	}
	if r.Count == 0 {
		r.Expert, r.Server, r.Client, r.First, r.Last, r.Frame = found.Expert, server, client, nanos, nanos, frame
		r.Detail = append(r.Detail, found.Detail...)
		if r.Frames == nil {
			r.Frames = c.roomForFrame()
		}
	}
	if r.Client.Port() != client.Port() {
		r.Client = netip.AddrPortFrom(client.Addr(), 0)
	}
	r.Count++
	if nanos < r.First {
		r.First, r.Frame = nanos, frame
	}
	r.Last = max(r.Last, nanos)
	r.addFrames(found.Frames, frame)
}

// roomForFrame returns an empty list with room for one frame, which is all that most findings
// have.
func (c *FindingCollector) roomForFrame() []uint64 {
	if len(c.rooms) == 0 {
		c.rooms = make([]uint64, framesAtOnce)
	}
	r := c.rooms[:0:1]
	c.rooms = c.rooms[1:]
	return r
}

// addFrames adds the frames of the evidence, or else the frame that decided the finding.
func (r *Repeats) addFrames(evidence [2]uint64, decided uint64) {
	if evidence[0] == 0 {
		evidence = [2]uint64{decided, decided}
	}
	for _, frame := range evidence {
		if frame != 0 && len(r.Frames) < maxFrames && !slices.Contains(r.Frames, frame) {
			r.Frames = append(r.Frames, frame)
		}
	}
}

// addEvicted adds what was evicted to the sum of its code.
func (c *FindingCollector) addEvicted(gone *Repeats) {
	k := evictedKey{gone.Expert.Code, gone.Expert.Severity}
	r := c.evicted[k]
	if r == nil {
		r = &Repeats{Expert: finding.Expert{Code: k.code, Severity: k.severity, Field: -1}, First: gone.First, Last: gone.Last, Frame: gone.Frame}
		c.evicted[k] = r
	}
	r.Evicted++
	r.Count += gone.Count
	if gone.First < r.First {
		r.First, r.Frame = gone.First, gone.Frame
	}
	r.Last = max(r.Last, gone.Last)
	for _, frame := range gone.Frames {
		r.addFrames([2]uint64{}, frame)
	}
}

// Summary returns the findings so far. The collector must not be used afterwards.
func (c *FindingCollector) Summary() *FindingSummary {
	s := c.sum
	for _, t := range c.kept {
		for _, r := range t.All() {
			s.Repeats = append(s.Repeats, *r)
		}
	}
	for _, r := range slices.Collect(maps.Values(c.evicted)) {
		s.Repeats = append(s.Repeats, *r)
	}
	slices.SortFunc(s.Repeats, compareRepeats)
	return &s
}

// compareRepeats orders repeats as FindingSummary has them; what else differs makes the order
// the same each time.
func compareRepeats(a, b Repeats) int {
	return cmp.Or(cmp.Compare(min(a.Evicted, 1), min(b.Evicted, 1)), -cmp.Compare(a.Expert.Severity, b.Expert.Severity), -cmp.Compare(a.Count, b.Count),
		cmp.Compare(a.First, b.First), a.Server.Compare(b.Server), a.Client.Compare(b.Client), cmp.Compare(a.Expert.Code.ID, b.Expert.Code.ID))
}

// AppendText appends the sentence of the first finding; of evicted ones, what all have in
// common. It may come from the network.
func (r *Repeats) AppendText(dst []byte) []byte {
	if r.Evicted > 0 {
		return append(dst, r.Expert.Code.Seen...)
	}
	return append(r.Expert.AppendText(dst), r.Detail...)
}

const (
	// limit: maxRepeats is how many findings of each severity are kept with the two hosts that they are
	// about, 1.2 MiB each and up to 0.5 MiB with frames and details. The ones longest without a repeat are
	// evicted, and then counted by code only. Chosen: more than anybody reads.
	maxRepeats = 4096
	// limit: maxFrames is how many frames are listed of a finding with repeats. Chosen: enough to look one
	// up and compare it with others.
	maxFrames = 8
	// limit: framesAtOnce is for how many findings with one frame memory is allocated at a time, 2 KiB.
	framesAtOnce = 256
)
