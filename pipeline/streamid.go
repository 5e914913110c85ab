package pipeline

import (
	"qsniff/dissect"
	"qsniff/reassembly/tcpstream"
)

// identify finds out whose a connection is. It returns how many bytes cannot be
// the start of anything, and how many are needed to go on. One that is nobody's
// is ignored from then on.
func (s *streams) identify(c *tcpstream.Conn, k *connection, dir int, ch *tcpstream.Chunk) (done, need int) {
	if d := s.told(c, k); d != nil {
		s.adopt(c, k, dir, d, dissect.WhyTold)
		return 0, 0
	}
	w := &k.way[dir]
	s.look(c, dir, w, ch)
	for {
		if w.lost {
			n, need := s.seek(c, ch.Data[done:])
			done, w.sought, w.searched = done+n, w.sought+n, true
			w.passed += uint64(n)
			if w.sought > maxSought {
				s.asm.Ignore(c)
				return done, 0
			}
			if need > 0 || done == len(ch.Data) {
				return done, need
			}
			w.lost = false
		}
		v, toServer := s.claim(c, dir, ch.Data[done:])
		switch {
		case v.Conf == dissect.No && c.Opened && !w.searched:
			s.asm.Ignore(c)
			return done, 0
		case v.Conf == dissect.No:
			w.lost = true
			done, w.sought = done+1, w.sought+1
			w.passed++
		case v.Need > 0:
			return done, v.Need
		default:
			why := s.believe(c, k, dir, &v, toServer, ch.Data[done:])
			if why == "" {
				w.waiting = true
				return done, len(ch.Data) - done + 1
			}
			k.server = serverEnd(dir, toServer)
			s.adopt(c, k, dir, v.Dissector, why)
			return done, 0
		}
	}
}

// serverEnd is the index of the server's end, where end dir speaks to the server or
// is it.
func serverEnd(dir int, toServer bool) int {
	if toServer {
		return 1 - dir
	}
	return dir
}

// look is for the first bytes of what end dir sends: where a message begins has
// to be found unless one does there.
func (s *streams) look(c *tcpstream.Conn, dir int, w *direction, ch *tcpstream.Chunk) {
	if !w.begun {
		w.begun = true
		w.lost = !c.Opened && !s.starts(c, dir, ch.Data)
	}
}

// starts tells whether messages begin where the capture of a connection does: a
// whole one stands there, and either nothing is behind it or another one. Who
// writes a message sends it at once, so that this is the usual case.
func (s *streams) starts(c *tcpstream.Conn, dir int, b []byte) bool {
	v, _ := s.claim(c, dir, b)
	if v.Conf == dissect.No || v.Need > 0 || v.Bad {
		return false
	}
	if v.Len == len(b) {
		return true
	}
	next, _ := s.claim(c, dir, b[v.Len:])
	return next.Conf != dissect.No && !next.Bad
}

// begins adopts a connection whose first message a break cuts, if that stands at
// its begin and on its protocol's port: no more of it will come.
func (s *streams) begins(c *tcpstream.Conn, k *connection, dir int, ch *tcpstream.Chunk) bool {
	w := &k.way[dir]
	if !c.Opened || w.searched || len(ch.Data) == 0 {
		return false
	}
	v, toServer := s.claim(c, dir, ch.Data)
	if v.Conf == dissect.No || !s.p.reg.OnPort(v.Dissector, c.Ends[1].Port()) {
		return false
	}
	k.server = serverEnd(dir, toServer)
	w.begun = true
	s.adopt(c, k, dir, v.Dissector, "port")
	return true
}

// told returns the protocol that -d gives to a port of c, and takes that port's
// end for the server's.
func (s *streams) told(c *tcpstream.Conn, k *connection) dissect.StreamDissector {
	for _, as := range s.p.decodeAs {
		for i, end := range c.Ends {
			if as.TCP && end.Port() == as.Port {
				k.server = i
				if c.Opened {
					k.server = 1
				}
				return s.p.reg.StreamOf(as.Proto)
			}
		}
	}
	return nil
}

// seek looks for a place where a message may begin.
func (s *streams) seek(c *tcpstream.Conn, b []byte) (skip, need int) {
	s.know = dissect.Stream{Dir: dissect.Unsure}
	s.p.ctx = dissect.Context{Src: c.Ends[0], Dst: c.Ends[1], Stream: &s.know}
	return s.p.reg.Seek(&s.p.ctx, b)
}

// claim asks the protocols about b, which end dir sent. Who opened the connection
// is its client; where that was not seen, the better of both readings counts, and
// of two that are equal the one that the ports speak for.
func (s *streams) claim(c *tcpstream.Conn, dir int, b []byte) (v dissect.Claim, toServer bool) {
	ask := func(d dissect.Direction) dissect.Claim {
		s.know = dissect.Stream{Dir: d, Opened: c.Begun()}
		s.p.ctx = dissect.Context{Src: c.Ends[dir], Dst: c.Ends[1-dir], Stream: &s.know}
		return s.p.reg.PickStream(&s.p.ctx, b)
	}
	if c.Opened {
		toServer = dir == 0
		if toServer {
			return ask(dissect.ToServer), true
		}
		return ask(dissect.ToClient), false
	}
	request, reply := ask(dissect.ToServer), ask(dissect.ToClient)
	switch {
	case request.Conf == reply.Conf:
		toServer = s.p.reg.ServerSide([2]uint16{c.Ends[0].Port(), c.Ends[1].Port()}) != dir
	default:
		toServer = request.Conf > reply.Conf
	}
	if toServer {
		return request, true
	}
	return reply, false
}

// believe says what the belief in a whole message at the start of b rests on;
// nothing if it is too weak. A message that is certain speaks for itself; another
// needs the protocol's port, or a second one in either direction.
func (s *streams) believe(c *tcpstream.Conn, k *connection, dir int, v *dissect.Claim, toServer bool, b []byte) string {
	server := c.Ends[serverEnd(dir, toServer)]
	switch {
	case v.Conf == dissect.Certain:
		return "structure"
	case s.p.reg.OnPort(v.Dissector, server.Port()):
		return "port"
	case k.way[1-dir].waiting:
		return "messages of both ends"
	}
	if v.Len < len(b) {
		if next, _ := s.claim(c, dir, b[v.Len:]); next.Dissector == v.Dissector && next.Conf != dissect.No && next.Need == 0 {
			return "two messages in a row"
		}
	}
	return ""
}

// adopt gives a connection to d, and reads what waits in the other direction.
func (s *streams) adopt(c *tcpstream.Conn, k *connection, dir int, d dissect.StreamDissector, why string) {
	s.begun++
	k.dis, k.why, k.conn, k.number, k.used = d, why, c, s.begun, s.p.frame
	k.sess = s.session(d)
	s.asm.Offer(c, 1-dir)
	for dir := range k.way {
		if w := &k.way[dir]; w.missed > 0 {
			s.record(c, k, &tcpstream.Missing, w.missed, dir)
			w.missed = 0
		}
	}
	s.resumed(c, k, &k.way[dir], dir)
}

// session returns memory for one more connection of d. Where all is in use, a
// connection makes room.
func (s *streams) session(d dissect.StreamDissector) dissect.Session {
	if s.used == maxSessions {
		s.giveUp()
	}
	s.used++
	if n := len(s.sessions); n > 0 {
		x := s.sessions[n-1]
		s.sessions = s.sessions[:n-1]
		return x
	}
	return d.NewSession(&s.budget)
}

// giveUp ends the connection that is worth the least, of equals the one that was
// silent longest.
func (s *streams) giveUp() {
	var least *connection
	for _, k := range s.conns {
		if k.sess != nil && (least == nil || k.worth() < least.worth() || k.worth() == least.worth() && k.used < least.used) {
			least = k
		}
	}
	c := least.conn
	s.end(c, least)
	if !least.over() {
		s.p.n.sessionsEvicted++
	}
	*least = connection{givenUp: true}
	s.asm.Ignore(c)
}
