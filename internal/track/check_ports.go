package track

import (
	"qsniff/dissect/finding"
	"qsniff/internal/base/lru"
)

// OtherGamePort is raised by a reply from port A that names port B as the game's.
var OtherGamePort = finding.Code{ID: "NET-02", Severity: finding.Note, Fault: finding.Server,
	Seen:   "a reply that names another port for the game than the one that it came from",
	Means:  "queries and players use different ports, as many games have it (DayZ, Rust, ARK, Unturned); or a router translates the port, or the server names a wrong one",
	Owner:  "where the game has one port for both, look for address translation before the server",
	Client: "query the port that answers, and show players the port in the reply",
	Format: "port {a} answers queries and names port {b} for the game"}

// ports finds servers whose game has another port than their queries, and queries to the wrong one.
type ports struct {
	*Hosts
	isReported *states[bool] // by server: that it names another port
	asked      *lru.Table[End, askedPort]
	hasNamed   bool // a reply named another port for the game
}

func newPorts(h *Hosts) check {
	c := &ports{Hosts: h, isReported: newServerStates[bool](h), asked: newTable[End, askedPort](h, maxAskedPorts)}
	return check{
		finds: []*finding.Code{&OtherGamePort},
		wants: []want{{answer, c.checkGamePort}, {noOffsetReply, c.addUnheardQuery}, {offsetReply, c.addHeardQuery}, {doubtful, c.addDoubtful}, {noServer, c.addSilentPort}},
	}
}

// addDoubtful adds a datagram that may be a query.
func (c *ports) addDoubtful(f *view) {
	if f.Proto.QueryOffset != 0 && !f.Reply {
		c.addUnheardQuery(f)
	}
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

// checkGamePort raises, once for a server, that it names another port for players than the one
// that the reply f came from.
func (c *ports) checkGamePort(f *view) {
	isReported := c.isReported.at(f.server.slot)
	if f.GamePort == 0 || f.GamePort == f.Server.Port() || *isReported || f.Proto.QueryOffset != 0 {
		return
	}
	*isReported, c.hasNamed = true, true
	c.openAskedPort(End{HostOf(f.Server), f.GamePort}).answering = f.Server.Port()
	c.Report(serverOnly(f.Fact), f.Frame, finding.Expert{Code: &OtherGamePort, A: uint64(f.Server.Port()), B: uint64(f.GamePort)}, false)
}

// addSilentPort adds a query at a port that never answered one, and raises that a reply named it as the game's. What
// was asked before that reply is left out, as the table would have to hold each port that a scan finds closed.
func (c *ports) addSilentPort(f *view) {
	if !c.hasNamed {
		return
	}
	if p := c.asked.Peek(EndOf(f.Server)); p != nil && pairCodes(f.Proto).WrongPort != nil {
		p.first, p.age, p.client = f.ID, f.Began, EndOf(f.Client)
		c.checkAskedPort(f, f.Server.Port(), p)
	}
}

// openAskedPort returns the entry of a port.
func (c *ports) openAskedPort(end End) *askedPort {
	p := enter(c.Hosts, c.asked, end)
	if *p == (askedPort{}) {
		p.age = never
	}
	return p
}

// addUnheardQuery adds a query of a protocol whose servers answer at another port than the
// game's, if nobody answered it, or nobody has so far.
func (c *ports) addUnheardQuery(f *view) {
	p := c.openAskedPort(EndOf(f.Server))
	if p.age == never {
		p.first, p.age, p.client = f.Frame, f.Age, EndOf(f.Client)
	}
	if f.Step == Silence || f.Age-p.age > int64(answerWait) {
		c.checkAskedPort(f, f.Server.Port(), p)
	}
}

// addHeardQuery adds an answer of such a server: the game's port is below the one that answers by
// the offset of the protocol, or the answer names it.
func (c *ports) addHeardQuery(f *view) {
	end := EndOf(f.Server)
	c.openAskedPort(end).isReported = true
	for _, port := range [...]uint16{f.Server.Port() - f.Proto.QueryOffset, f.GamePort} {
		if port == 0 || port == end.Port {
			continue
		}
		p := c.openAskedPort(End{end.Host, port})
		p.answering = end.Port
		if f.Age-p.age > int64(answerWait) {
			c.checkAskedPort(f, port, p)
		}
	}
}

// checkAskedPort raises at f that a port was asked in place of the one that answers.
func (c *ports) checkAskedPort(f *view, port uint16, p *askedPort) {
	if p.isReported || p.age == never || p.answering == 0 {
		return
	}
	p.isReported = true
	at := *f.Fact
	at.Server, at.Client = End{HostOf(f.Server), port}.AddrPort(), p.client.AddrPort()
	c.Report(&at, p.first, finding.Expert{Code: pairCodes(f.Proto).WrongPort, A: uint64(port), B: uint64(p.answering)}, c.isUnsure(p.age) || c.isOneSided(f.Server, p.age))
}

const (
	// limit: maxAskedPorts is how many ports are kept that a protocol whose queries go to another port
	// than the game's was asked or answered at. Chosen: hosts have some hundred servers.
	maxAskedPorts = 512
)
