package track

import "qsniff/dissect/finding"

// checkGamePort raises, once for a server, that it names another port for players than the one
// that the reply f came from.
func (h *Hosts) checkGamePort(f *Fact, s *hostState) {
	if f.GamePort == 0 || f.GamePort == f.Server.Port() || s.isPortReported || f.Proto.QueryOffset != 0 {
		return
	}
	s.isPortReported = true
	h.raise(serverOnly(f), f.Frame, finding.Expert{Code: &OtherGamePort, A: uint64(f.Server.Port()), B: uint64(f.GamePort)}, false)
}

// askedPort is a port of a host that is not the one that answers queries, or may not be: the
// game's. It is asked, or another port of the host answers.
type askedPort struct {
	first      uint64 // frame of the first query that nobody answered
	age        int64  // of that query; never if there is none
	client     End    // that sent it
	answering  uint16 // the port of the same host that answers; 0: none was seen
	isReported bool   // or the port answers, so that nothing is to be reported
}

// openAskedPort returns the entry of a port.
func (h *Hosts) openAskedPort(end End) *askedPort {
	p, evicted := h.askedPorts.Put(end)
	if evicted != nil {
		h.evicted++
	}
	if *p == (askedPort{}) {
		p.age = never
	}
	return p
}

// addUnheardQuery adds a query of a protocol whose servers answer at another port than the
// game's, if nobody answered it, or nobody has so far.
func (h *Hosts) addUnheardQuery(f *Fact) {
	p := h.openAskedPort(EndOf(f.Server))
	if p.age == never {
		p.first, p.age, p.client = f.Frame, f.Age, EndOf(f.Client)
	}
	if f.Step == Silence || f.Age-p.age > int64(answerWait) {
		h.checkAskedPort(f, f.Server.Port(), p)
	}
}

// addHeardQuery adds an answer of such a server: the game's port is below the one that answers by
// the offset of the protocol, or the answer names it.
func (h *Hosts) addHeardQuery(f *Fact) {
	end := EndOf(f.Server)
	h.openAskedPort(end).isReported = true
	for _, port := range [...]uint16{f.Server.Port() - f.Proto.QueryOffset, f.GamePort} {
		if port == 0 || port == end.Port {
			continue
		}
		p := h.openAskedPort(End{end.Host, port})
		p.answering = end.Port
		if f.Age-p.age > int64(answerWait) {
			h.checkAskedPort(f, port, p)
		}
	}
}

// checkAskedPort raises at f that a port was asked in place of the one that answers.
func (h *Hosts) checkAskedPort(f *Fact, port uint16, p *askedPort) {
	if p.isReported || p.age == never || p.answering == 0 {
		return
	}
	p.isReported = true
	at := *f
	at.Server, at.Client = End{HostOf(f.Server), port}.AddrPort(), p.client.AddrPort()
	h.raise(&at, p.first, finding.Expert{Code: pairCodes(f.Proto).WrongPort, A: uint64(port), B: uint64(p.answering)}, h.isUnsure(p.age) || h.isOneSided(f.Server, p.age))
}
