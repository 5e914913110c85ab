package flood

import (
	"qsniff/internal/base/lru"
	m "qsniff/internal/flood/measure"
	"qsniff/internal/track"
)

// handleRequest counts a request at its server, and for its source's scan unless the server
// is known to have answered lately.
func (d *Detector) handleRequest(s *track.Sighting) {
	b := &d.book
	b.requests += uint64(s.Count())
	x, isOwn := &d.side, d.own.names != nil && d.own.takeRequest(s)
	if isOwn {
		x = &d.own.side
		d.tryRules(s, d.servers.receiver(s))
	}
	w := x.servers.receiver(s)
	isSummed := x.networks.handleRequest(s, w)
	if w == nil {
		d.asked.Add(lru.Mix(s.ClientHash, s.ServerHash))
		d.scans.countRequest(s)
		if w = x.countPacket(s, isSummed); w == nil {
			d.claims.CheckRequest(nil, nil, s, b.Now)
			return
		}
	} else if w.LastSent == 0 || b.Now-w.LastSent > m.BinSeconds || d.scans.isWatching() {
		d.scans.countRequest(s)
	}
	second := w.CountRequest(s, b.Clock)
	r := d.claims.CheckRequest(&w.Server, second, s, b.Now)
	r.IsProven = r.IsProven || isOwn // also where the source is in no sample
	if w.hasTrial() {
		w.applyTrials(s, r.IsProven || d.isProven(s))
	}
	d.guessers.recordRequest(s, r.IsGuess)
	w.CountChecked(s, b.Clock, second, r)
}

// isProven reports whether the client of a packet proved its address to the server in the
// last measure.ProvenFor seconds.
func (d *Detector) isProven(s *track.Sighting) bool {
	return d.claims.IsProven(s.ServerHash, s.ClientHash, d.book.Now)
}

// wasAsked reports whether the client of a packet sent its server a request in the last five
// to ten seconds, while the server was not watched closely.
func (d *Detector) wasAsked(s *track.Sighting) bool {
	return d.asked.Has(lru.Mix(s.ClientHash, s.ServerHash))
}

// handleReply counts a reply, a challenge or a part of a split reply.
func (d *Detector) handleReply(s *track.Sighting) {
	b := &d.book
	w := d.servers.sender(s)
	x, isOwn := &d.side, d.own.names != nil && d.own.takesReply(s)
	if isOwn {
		x = &d.own.side
		d.tryRules(s, w)
		if w != nil {
			w.LastSent = b.Now
		}
		w = x.servers.sender(s)
	}
	// A server that is watched closely gets so many requests that its replies count as
	// asked for: pairs are not kept for it.
	isWanted := s.IsSample() || w != nil && b.Now-w.LastAsked < 2*askedPeriod || d.wasAsked(s)
	isWhole := s.What != track.IsPart || s.Flags&track.First != 0
	x.networks.handleReply(s, w, isWhole)
	d.victims.countReply(s, isWanted)
	if isWanted {
		d.scans.countReply(s)
	}
	var server *m.Server
	if w == nil {
		x.servers.recordReply(s.From(), s.What == track.IsChallenge)
		if d.servers.hasTrial { // junk that looks like a reply, as rules see it
			if to := d.servers.receiver(s); to != nil && to.hasTrial() {
				to.applyTrials(s, isWanted)
			}
		}
	} else {
		server = &w.Server
		w.CountReply(s, b.Clock, isWhole)
		d.recordLeak(w, s, isWhole)
		if w.hasTrial() {
			w.applyTrials(s, d.isProven(s))
		}
	}
	if !isWanted {
		return
	}
	switch {
	case w == nil:
	case !isWhole:
		w.amplifier.countPart(s)
	default:
		if a := d.claims.TakeAnswered(s, b.Now); a.IsPlain && !isOwn {
			w.amplifier.countAnswer(b, server, s, a)
		}
	}
	if s.What == track.IsChallenge && s.Flags&track.HasKey != 0 {
		d.claims.RecordChallenge(server, s, b.Clock)
	}
}

// handleJunk counts a datagram that begins like a query and is nothing known at its receiver,
// unless a server that is watched closely sent it.
func (d *Detector) handleJunk(s *track.Sighting) {
	w := d.servers.receiver(s)
	if w == nil && d.servers.sender(s) != nil { // a server's own notice
		return
	}
	isSummed := d.networks.handleJunk(s, w)
	if w == nil {
		if w = d.side.countPacket(s, isSummed); w == nil {
			return
		}
	}
	w.CountJunk(s, d.book.Clock)
	if w.hasTrial() {
		w.applyTrials(s, d.claims.IsProven(w.Hash, s.ClientHash, d.book.Now))
	}
}

// handleOther handles a datagram that is of no known protocol. Those that a server sends
// show with whom it speaks the game; one to a server from anybody else counts as strange.
func (d *Detector) handleOther(s *track.Sighting) {
	b := &d.book
	if w := d.servers.sender(s); w != nil {
		w.LastSent = b.Now
		d.played.Add(lru.Mix(b.key.HashHost(&s.Dst), w.Hash^uint64(s.DstPort)))
		if w.hasTrial() {
			w.applyTrials(s, true)
		}
		return
	}
	w := d.servers.receiver(s)
	if w == nil || w.LastSent == 0 {
		return
	}
	hasPlayed := d.played.Has(lru.Mix(b.key.HashHost(&s.Src), w.Hash^uint64(s.SrcPort)))
	if w.hasTrial() { // the game goes both ways with players: they receive what is sent to them
		w.applyTrials(s, hasPlayed)
	}
	if !hasPlayed {
		w.CountStrange(s, b.Clock)
	}
}
