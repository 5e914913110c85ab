package flood

import (
	"qsniff/internal/lru"
	"qsniff/track"
)

// request takes a request.
func (d *Detector) request(s *track.Sighting) {
	d.inbound++
	e := s.To()
	source, hash := s.ClientHash, s.ServerHash
	t := d.find(e)
	if t == nil {
		d.asked.Add(lru.Mix(source, hash))
		d.scans.touch(d, s, source, hash)
		if t = d.count(e, s.ServerHash); t == nil {
			d.claim(nil, nil, s, claimKey(hash, source), source)
			return
		}
	} else if t.heard == 0 || d.now-t.heard > binSeconds || d.scans.known() {
		d.scans.touch(d, s, source, t.hash)
	}
	b := t.asked(s, d)
	v := verdict{query: true}
	if s.Flags&track.HasKey != 0 || d.claims.follows(source) {
		v = d.claim(t, b, s, claimKey(hash, source), source)
	}
	if t.tries > 0 {
		d.tried(t, s, v.proven || d.knows(claimKey(hash, source)))
	}
	switch {
	case v.bad:
		b.bad++
		p := t.pane()
		p.bad.Add(source)
		t.note(p.badTop.Add(s.Src, source), s, d.now)
	case v.query:
		b.queries++
		if f := &b.fine[uint64(d.nanos)/10e6%100]; *f < 255 {
			*f++
		}
		if v.proven {
			b.proven++
		}
		t.query(s, source, d.now, v.proven)
	}
}

// asked counts a request of any kind.
func (t *target) asked(s *track.Sighting, d *Detector) *bin {
	t.last = d.now
	b := t.bin(d.now, d.nanos)
	if b.frame == 0 {
		b.frame = s.Frame
	}
	if t.proto == "" && s.Proto != nil {
		t.proto = s.Proto.Name
	}
	b.packets++
	b.bytesIn += uint64(s.Bytes)
	if s.Flags&track.HasKey != 0 {
		b.keyed++
	}
	return b
}

// note keeps what there is to know of a busy source.
func (t *target) note(v *seen, s *track.Sighting, now int32) {
	if v == nil { // it is not among the busiest
		return
	}
	if v.first == 0 {
		v.first = now
	}
	v.last, v.ttl = now, s.TTL
	v.ports.Add(t.key.portHash(s.SrcPort))
}

// verdict is what a request is.
type verdict struct {
	query  bool // it counts: not the second half of an exchange that counted
	proven bool // its source proved its address not long ago
	bad    bool // it has a challenge that was never issued to it
}

// claim judges a request by what its source was given. t and b are nil where the
// target is not watched closely: then it is remembered only.
func (d *Detector) claim(t *target, b *bin, s *track.Sighting, key, source uint64) verdict {
	follows := d.claims.follows(source)
	if !follows && s.Flags&track.HasKey == 0 {
		return verdict{query: true}
	}
	x := d.claims.of(key, d.now) // who has a challenge is rare in a flood of others
	if x.pending > 0 && d.now-x.asked > pendingFor {
		x.pending, x.unproven, x.waits = 0, 0, false
	}
	if s.Flags&track.HasKey == 0 && !(s.Flags&track.Cut != 0 && x.waits && uint16(s.Bytes) == x.plain+uint16(s.Type.TokenLen())) {
		return d.plain(b, s, x)
	}
	x.open = false
	switch {
	case s.Flags&track.HasKey == 0:
		return d.echo(t, x, false)
	case x.value == 0 && x.before == 0 && !follows: // it may have been given it just now
		return verdict{query: t == nil || t.challenged == 0}
	case x.value == 0 && x.before == 0:
		return d.unknown(t, s, x)
	case s.Key == x.value || s.Key == x.before:
		return d.echo(t, x, true)
	}
	return verdict{bad: true, proven: x.proven(d.now)}
}

// plain takes a request without a challenge.
func (d *Detector) plain(b *bin, s *track.Sighting, x *claim) verdict {
	x.open, x.plain = true, uint16(s.Bytes)
	if x.pending == 0 {
		x.asked, x.level = d.now, d.claims.level
	}
	x.pending = min(x.pending, 1<<15) + 1
	v := verdict{query: true, proven: x.proven(d.now)}
	if !v.proven {
		x.unproven = min(x.unproven, 1<<15) + 1
		if b != nil {
			b.unproven += x.weight()
		}
	}
	return v
}

// echo takes a request that brings back what its source was given; sure is not set
// where the capture cut the value.
func (d *Detector) echo(t *target, x *claim, sure bool) verdict {
	v := verdict{query: x.pending == 0, proven: true}
	x.pending -= min(x.pending, 1)
	x.proved = d.now
	d.proven.Add(x.key)
	if t == nil {
		return v
	}
	if !sure {
		t.cut = d.now
	}
	w := x.weight()
	if b := t.at(x.asked); b != nil {
		b.credited += w * uint32(x.unproven)
	}
	if x.waits {
		if b := t.at(x.issued); b != nil {
			b.echoed += w
		}
	}
	x.unproven, x.waits = 0, false
	return v
}

// unknown takes a request with a challenge that the capture did not show. Where it
// shows none of this server, or just began, nothing can be said against it: it
// counts as the echo that it looks like.
func (d *Detector) unknown(t *target, s *track.Sighting, x *claim) verdict {
	v := verdict{query: x.pending == 0}
	switch {
	case t == nil || t.challenged == 0 || d.now-t.first < freshFor:
		if t != nil && t.challenged == 0 && x.pending > 0 { // in one direction, what looks like proof is all there is
			x.proved, v.proven = d.now, true
			d.proven.Add(x.key)
		}
		if x.pending > 0 {
			x.pending--
			if b := t.binOf(x.asked); b != nil {
				b.credited += x.weight() * uint32(x.unproven)
			}
			x.unproven = 0
		}
	case x.cached == 0: // it may have been given before the capture began
		if b := t.at(d.now); b != nil && x.pending == 0 { // else its challenge may be missing in the capture
			b.orphans += d.claims.weight()
		}
	case x.cached != s.Key:
		v.bad = true
	}
	x.cached = s.Key
	return v
}

func (t *target) binOf(sec int32) *bin {
	if t == nil {
		return nil
	}
	return t.at(sec)
}

// junk takes a datagram that begins like a query and is nothing known.
func (d *Detector) junk(s *track.Sighting) {
	e := s.To()
	t := d.find(e)
	if t == nil {
		if d.find(s.From()) != nil { // a server says something to somebody
			return
		}
		if t = d.count(e, s.ServerHash); t == nil {
			return
		}
	}
	d.nonsense(t, s)
}

// nonsense counts a datagram that no server of ours understands.
func (d *Detector) nonsense(t *target, s *track.Sighting) {
	t.last = d.now
	b := t.bin(d.now, d.nanos)
	if b.frame == 0 {
		b.frame = s.Frame
	}
	b.junk++
	b.junkBytes += uint64(s.Bytes)
	p := t.pane()
	source := s.ClientHash
	p.junkSrc.Add(source)
	t.note(p.junkTop.Add(s.Src, source), s, d.now)
	if t.tries > 0 {
		d.tried(t, s, d.knows(claimKey(t.hash, source)))
	}
}

// other takes a datagram of no protocol of ours: to a target it is the game's, if
// the target speaks to that client in the same way.
func (d *Detector) other(s *track.Sighting) {
	if t := d.find(s.From()); t != nil {
		t.heard = d.now
		d.played.Add(lru.Mix(d.key.hostHash(s.Dst), t.hash^uint64(s.DstPort)))
		return
	}
	t := d.find(s.To())
	if t == nil || t.heard == 0 {
		return
	}
	if !d.played.Has(lru.Mix(d.key.hostHash(s.Src), t.hash^uint64(s.SrcPort))) {
		t.bin(d.now, d.nanos).strange++
		p := t.pane()
		p.junkSrc.Add(s.ClientHash)
		t.note(p.junkTop.Add(s.Src, s.ClientHash), s, d.now)
	}
}

// reply takes what a server sends.
func (d *Detector) reply(s *track.Sighting) {
	d.outbound++
	e := s.From()
	client, hash := s.ClientHash, s.ServerHash
	t := d.find(e)
	// Who is asked as much as t answers those who ask.
	wanted := t != nil && d.now-t.last < 2*askedTurn || d.asked.Has(lru.Mix(client, hash))
	whole := s.What != track.IsPart || s.Flags&track.First != 0
	d.victims.reply(d, s, wanted, client)
	if wanted {
		d.scans.answered(s, hash)
	}
	if t == nil {
		if l := d.light.Peek(e); l != nil {
			l.heard = d.now
			if s.What == track.IsChallenge {
				l.given = d.now
			}
		}
	} else {
		t.heard = d.now
		b := t.bin(d.now, d.nanos)
		b.bytesOut += uint64(s.Bytes)
		if v, _, _ := t.pane().top.Find(s.Dst, client); v != nil {
			v.out += s.Bytes
			v.given = v.given || s.What == track.IsChallenge
		}
		if t.tries > 0 {
			d.tried(t, s, d.knows(claimKey(hash, client)))
		}
		if whole {
			b.replies++
		}
		if t.proto == "" && s.Proto != nil {
			t.proto = s.Proto.Name
		}
	}
	if s.What == track.IsChallenge && s.Flags&track.HasKey != 0 && wanted {
		d.issue(t, s, claimKey(hash, client), client)
	} else if t != nil && whole && wanted && s.What == track.IsReply {
		d.posture(t, s, client)
	}
}

// issue takes a challenge that a server gives.
func (d *Detector) issue(t *target, s *track.Sighting, key, client uint64) {
	if t != nil {
		if t.challenged == 0 {
			t.first = d.now
		}
		t.challenged = d.now
	}
	x := d.claims.find(key)
	if x == nil {
		if !d.claims.follows(client) {
			return
		}
		x = d.claims.of(key, d.now)
	}
	if s.Key != x.value {
		x.before, x.value = x.value, s.Key
	}
	if t == nil {
		return
	}
	b := t.bin(d.now, d.nanos)
	switch {
	case x.pending > 0 && !x.waits:
		x.waits, x.issued = true, d.now
		b.challenged += x.weight()
	case x.cached != 0 && x.cached != s.Key && !x.open && d.now-t.first >= freshFor: // what it had brought is refused
		x.cached = 0
		b.bad += d.claims.weight()
		p := t.pane()
		p.bad.Add(client)
		if v := p.badTop.Add(s.Dst, client); v != nil {
			if v.first == 0 {
				v.first = d.now
			}
			v.last = d.now
		}
	}
}
