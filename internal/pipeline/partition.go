package pipeline

import (
	"math"
	"net/netip"

	"qsniff/capture/packet"
	"qsniff/dissect"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/track"
	"qsniff/reassembly"
	"qsniff/reassembly/split"
)

// partition processes the items of one sixteenth of all address pairs, and keeps all
// state about them. It is a row of stages, listed here in the order in which an item
// passes through them; see the comment of the package.
type partition struct {
	now            current
	sights         *sightMaker // nil: there are no watchers
	skipsDatagrams bool        // datagrams are for watchers only
	marksSights    bool        // see Config.WatchesMatches
	brevity        *brevity
	search         *search // for the flow of the item at hand; a worker sets it
	hasChanged     bool    // totals may differ from what they were when the worker handed them over
	joiner         *joiner
	streams        *streams // nil before the first segment: most captures have none
	identifier     *identifier
	parser         *parser
	tracker        *tracker
	emitter        *emitter
	skipsStreams   map[*dissect.Proto]bool // see Config.skipsTexts
	size           float64                 // of the tables, as a multiple of the usual
}

func newPartition(number int, cfg *Config, size float64) *partition {
	p := &partition{now: current{part: uint8(number)}, size: size, search: &search{index: -1}}
	now, flows := &p.now, track.NewFlows(int(track.DefaultFlows*size))
	p.emitter = newEmitter(now, cfg)
	p.tracker = newTracker(now, int(track.DefaultExchanges*size), flows, p.emitter, cfg)
	p.brevity = newBrevity(cfg)
	p.parser = &parser{msg: new(dissect.Message), reg: cfg.Registry, flows: flows, tracker: p.tracker, brevity: p.brevity}
	p.parser.skipsTexts, p.skipsStreams = cfg.skipsTexts()
	p.identifier = &identifier{now: now, reg: cfg.Registry, decodeAs: cfg.DecodeAs, flows: flows, parked: newParking(), parser: p.parser, last: new(lastLook),
		echoes: &echoes{index: -1}}
	p.joiner = newJoiner(now, size, p.identifier, p.tracker)
	p.identifier.pairs = &p.identifier.echoes.pairs
	if len(cfg.Watchers) > 0 {
		p.identifier.pairs = nil
		p.sights = &sightMaker{msg: new(dissect.Message), now: now, reg: cfg.Registry, decodeAs: cfg.DecodeAs,
			echoes: p.identifier.echoes}
		if wantsProfiles(cfg.Watchers) {
			p.sights.profiles = new(profileMaker)
		}
		p.skipsDatagrams, p.marksSights = cfg.wantsOnlySightings(), cfg.WatchesMatches && cfg.Filter != nil
	}
	return p
}

// shareMemory makes p use the memory of q for messages, which last no longer than an item, for the
// last payload, for decompression, and for what its renderer remembers. One worker serves both. Neither
// has had an item yet.
func (p *partition) shareMemory(q *partition) {
	p.parser.msg, p.emitter.renderer, p.identifier.last = q.parser.msg, q.emitter.renderer, q.identifier.last
	p.joiner.split.ShareInflater(q.joiner.split)
	if p.sights != nil {
		p.sights.msg = q.sights.msg
	}
}

// newStreams returns streams that pass messages to the later stages of the partition.
func (p *partition) newStreams() *streams {
	q := claims{reg: p.identifier.reg, decodeAs: p.identifier.decodeAs}
	return newStreams(p.size, q, connReport{now: &p.now, tracker: p.tracker, emitter: p.emitter, sights: p.sights,
		skipsTexts: p.skipsStreams, msg: p.parser.msg})
}

// begin prepares for the items of a batch.
func (p *partition) begin(b *batch) { p.now.start, p.now.seed = b.totals.first, b.seed }

// process passes one item through the stages; what becomes of it is added to seg.
func (p *partition) process(index int32, it *item, seg *segment) {
	p.now.setItem(index, it, seg)
	if p.marksSights {
		defer p.markSights(seg, len(seg.spans), len(seg.sights))
	}
	var first *look
	if p.sights != nil {
		first = p.sights.addSightings(it)
		if p.skipsDatagrams && it.kind != kindSegment && it.kind != kindTick && it.kind != kindEnd {
			return
		}
	}
	p.hasChanged = true
	if it.weight > 1 { // the answer to it is hardly among the samples
		p.tracker.noteGap(math.MaxInt64)
	}
	if p.brevity.hasShortWay && it.kind == kindDatagram {
		var isDone bool
		if first, isDone = p.processUsual(it, first); isDone {
			return
		}
	}
	switch it.kind {
	case kindTick:
		p.expire(it.age)
	case kindEnd:
		p.flush(it.age)
	case kindStray: // for watchers alone
	case kindBegun:
		p.tracker.notePart(it)
	case kindQuoted:
		p.reportICMP(it)
	case kindGap:
		p.tracker.noteGap(it.age)
		if p.now.part == 0 { // all partitions get the gap, one reports it
			reportDamage(p.emitter, it)
		}
	case kindSegment:
		if p.streams == nil {
			p.streams = p.newStreams()
		}
		p.streams.addSegment(it)
	default:
		p.joiner.join(it, first)
	}
}

// markSights marks the requests and segments among the sights from sight0 on, if no message
// among the spans from span0 on is chosen.
func (p *partition) markSights(seg *segment, span0, sight0 int) {
	isChosen := false
	for i := span0; i < len(seg.spans); i++ {
		x := &seg.spans[i]
		isChosen = isChosen || x.isMessage && x.truth == filter.All && x.fact.Frame == p.now.item.frame
	}
	for i := sight0; i < len(seg.sights); i++ {
		x := &seg.sights[i]
		x.isUnmatched = x.kind == sawPacket && (x.What == track.IsRequest && !isChosen || x.Flags&track.Connection != 0)
	}
}

// reportICMP reports an ICMP error if it quotes a message, and counts it if not.
func (p *partition) reportICMP(it *item) {
	t := p.identifier.typeOf(it, nil)
	if t == nil {
		p.now.n.icmp++
		return
	}
	reportQuoted(p.emitter, it, t)
}

// expire delivers or drops what has waited too long at age.
func (p *partition) expire(age int64) {
	p.joiner.expire(age)
	if p.streams != nil {
		p.streams.expire(age)
	}
	p.tracker.expire(age)
}

// flush delivers what still waits when the capture ends at age.
func (p *partition) flush(age int64) {
	p.joiner.flush(age)
	if p.streams != nil {
		p.streams.flush(age)
	}
	p.tracker.expire(age)
}

// totals returns the counters so far.
func (p *partition) totals() totals {
	n := p.now.n
	n.flowsEvicted, n.exchangesEvicted, n.visitsEvicted = p.identifier.flows.Evicted(), p.tracker.exchanges.Evicted(), p.tracker.exchanges.VisitsEvicted()
	n.split, n.joined = p.joiner.counters()
	n.pairing = p.identifier.echoes.pairs.n
	if p.streams != nil {
		n.tcp = p.streams.asm.Counters
	}
	return n
}

// payload is the bytes that a message is made of, from one datagram, from several that
// were joined, or from a connection, and where they came from.
type payload struct {
	src, dst     netip.AddrPort
	data         []byte
	run          int // length of data before the first gap: only that much is dissected
	wire         int // length as sent
	frame        uint64
	frames       []uint64
	nanos        int64
	began        int64              // time stamp of its first packet; 0 if only nanos is known
	conn         uint64             // of TCP, the number of the connection from 1
	pieces       []reassembly.Piece // which frame brought which bytes; nil if one brought all, or if they were compressed
	origin       []reassembly.Piece // like pieces, also where one frame brought all or they were compressed; nil: all of data is one datagram's
	seq          uint32             // of TCP, the sequence number of data[0]
	ipPieces     int                // number of IP fragments that it came in; 0: not fragmented
	set          *split.Set
	ways         []packet.Way // around the packet that completed it
	from         *origin      // of that packet; nil if it is not at hand
	joined       *dissect.Joined
	isReply      bool
	isMisfit     bool   // its UDP length does not fit: the receiver drops it
	isIncomplete bool   // what is missing will not come
	why          string // what became of the missing bytes; empty if none are missing
	isTCP        bool
	stream       uint64 // first frame of its connection's first message
	key          uint64 // its place among what is written at the same packet; 0: its first frame
	record       string // see render.Event
	cut          string // likewise
	first        *look  // what sightMaker found out about it; nil if it did not look
}

// isMismatched reports whether s came out of a compressed stream and is not what the header of the
// stream declares. Nothing is learned of a server from it.
func (s *payload) isMismatched() bool { return s.set != nil && s.set.Outcome == split.BadBzip2 }

// outcome is what became of a payload.
type outcome uint8

const (
	reported  outcome = iota
	unclaimed         // no protocol claims it
	sentBack          // it sends a request back, and was counted
	doubtful          // it could be a message, and nothing confirms that
)

// train is the time from the first packet of s to the last, in nanoseconds.
func (s *payload) train() int64 {
	if s.began == 0 || len(s.frames) < 2 {
		return 0
	}
	return s.nanos - s.began
}

// firstFrame returns the key by which s is ordered among what is written at one packet.
func (s *payload) firstFrame() uint64 {
	if s.key > 0 {
		return s.key
	}
	if len(s.frames) > 0 {
		return s.frames[0]
	}
	return s.frame
}
