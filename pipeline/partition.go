package pipeline

import "qsniff/track"

// partition is one sixteenth of the world: what the address pairs that fall to it send.
// It is a row of stages, which stand here in the order in which an item goes through
// them; see the comment of the package.
type partition struct {
	now            current
	sights         *sights // nil: nobody watches
	skipsDatagrams bool    // nobody wants messages in them, only what watchers see
	joiner         *joiner
	streams        *streams // nil before the first segment: most captures have none
	identifier     *identifier
	parser         *parser
	tracker        *tracker
	emitter        *emitter
	size           float64 // of the tables, as a multiple of the usual
}

func newPartition(number int, cfg *Config, size float64) *partition {
	p := &partition{now: current{part: uint8(number)}, size: size}
	now, flows := &p.now, track.NewFlows(int(track.DefaultFlows*size))
	p.emitter = newEmitter(now, cfg)
	p.tracker = newTracker(now, int(track.DefaultExchanges*size), p.emitter)
	p.parser = &parser{reg: cfg.Registry, flows: flows, tracker: p.tracker, skipsTexts: p.emitter.renderer == nil}
	p.identifier = &identifier{now: now, reg: cfg.Registry, decodeAs: cfg.DecodeAs, flows: flows, parked: newParking(), parser: p.parser}
	p.joiner = newJoiner(now, size, p.identifier, p.tracker)
	if len(cfg.Watchers) > 0 {
		p.sights = &sights{now: now, reg: cfg.Registry, decodeAs: cfg.DecodeAs}
		p.skipsDatagrams = cfg.onlyWatched()
	}
	return p
}

// newStreams returns streams that go on to the later stages of the partition.
func (p *partition) newStreams() *streams {
	q := claims{reg: p.identifier.reg, decodeAs: p.identifier.decodeAs}
	return newStreams(p.size, q, connReport{now: &p.now, tracker: p.tracker, emitter: p.emitter, sights: p.sights,
		skipsTexts: p.parser.skipsTexts, msg: &p.parser.msg})
}

// begin prepares for the items of a batch.
func (p *partition) begin(b *batch) { p.now.start, p.now.seed = b.totals.first, b.seed }

// do does one item; what it makes of it goes to seg.
func (p *partition) do(index int32, it *item, seg *segment) {
	p.now.takeItem(index, it, seg)
	var first *look
	if p.sights != nil {
		first = p.sights.watch(it)
		if p.skipsDatagrams && it.kind != kindSegment && it.kind != kindTick && it.kind != kindEnd {
			return
		}
	}
	switch it.kind {
	case kindTick:
		p.tick(it.age)
	case kindEnd:
		p.flush(it.age)
	case kindStray: // for watchers alone
	case kindBegun:
		p.tracker.notePart(it)
	case kindQuoted:
		p.report(it)
	case kindGap:
		p.tracker.noteGap(it.age)
		if p.now.part == 0 { // one has to say it
			reportDamage(p.emitter, it)
		}
	case kindSegment:
		if p.streams == nil {
			p.streams = p.newStreams()
		}
		p.streams.add(it)
	default:
		p.joiner.join(it, first)
	}
}

// report reports an ICMP error if it is about a message. What is quoted of other traffic
// is nobody's.
func (p *partition) report(it *item) {
	t := p.identifier.typeOf(it, nil)
	if t == nil {
		p.now.n.icmp++
		return
	}
	reportQuoted(p.emitter, it, t)
}

// tick gives up what waited too long at age.
func (p *partition) tick(age int64) {
	p.joiner.tick(age)
	if p.streams != nil {
		p.streams.tick(age)
	}
	p.tracker.tick(age)
}

// flush gives up what waits when the capture ends at age.
func (p *partition) flush(age int64) {
	p.joiner.flush(age)
	if p.streams != nil {
		p.streams.flush(age)
	}
	p.tracker.tick(age)
}

// totals are the counters so far.
func (p *partition) totals() totals {
	n := p.now.n
	n.flowsEvicted, n.exchangesEvicted = p.identifier.flows.Evicted(), p.tracker.exchanges.Evicted()
	n.split, n.joined = p.joiner.counters()
	if p.streams != nil {
		n.tcp = p.streams.asm.Counters
	}
	return n
}
