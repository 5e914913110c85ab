package track

import (
	"net/netip"
	"slices"

	"qsniff/dissect/finding"
)

// OneAddress is raised when all A answers of a server went to one private address, Addr, at B
// ports or more.
var OneAddress = finding.Code{ID: "NET-03", Severity: finding.Warn, Fault: finding.Middlebox,
	Seen:   "all queries that a server answered came from one private address, from several ports",
	Means:  "if more than one client asks, a bridge of containers or a proxy before the server replaces their addresses: limits by address then take all clients for one, and bans hit all",
	Owner:  "give the container the network of its host, or have the proxy keep the clients' addresses",
	Client: "nothing, even if it is one program that asks from a new port each time",
	Format: "all {a} queries answered so far came from the private address {host}, from at least {b} ports"}

// soleClients finds servers whose clients all have one private address.
type soleClients struct {
	*Hosts
	clients *states[soleClient] // by server
}

func newSoleClients(h *Hosts) check {
	c := &soleClients{Hosts: h, clients: newServerStates[soleClient](h)}
	return check{finds: []*finding.Code{&OneAddress}, wants: []want{{answer, c.countClient}}}
}

// soleClient is the one address that all of a server's answers went to so far.
type soleClient struct {
	host     Host
	first    uint64 // frame of the first answer
	answers  uint32
	ports    [solePorts]uint16
	numPorts uint8
	isOver   bool // there is another address, or the finding was raised
}

// countClient counts an answer, and raises that all clients of a server have one private
// address.
func (c *soleClients) countClient(f *view) {
	x := c.clients.at(f.server.slot)
	if x.isOver || f.Step != Answer {
		return
	}
	host := HostOf(f.Client)
	if x.answers == 0 {
		x.host, x.first = host, f.Frame
		x.isOver = !f.Client.Addr().Unmap().IsPrivate()
	}
	if x.isOver = x.isOver || host != x.host; x.isOver {
		return
	}
	x.answers++
	if n := int(x.numPorts); n < len(x.ports) && !slices.Contains(x.ports[:n], f.Client.Port()) {
		x.ports[n] = f.Client.Port()
		x.numPorts++
	}
	if x.answers < soleAnswers || x.numPorts < solePorts {
		return
	}
	x.isOver = true
	at := *f.Fact
	at.Client = netip.AddrPortFrom(at.Client.Addr(), 0)
	c.Report(&at, x.first, finding.Expert{Code: &OneAddress, Addr: at.Client, A: uint64(x.answers), B: uint64(x.numPorts)}, false)
}

const (
	// limit: A server has clients of one private address if it answered soleAnswers queries, from
	// solePorts ports or more, and all were from there.
	soleAnswers = 20
	solePorts   = 5
)
