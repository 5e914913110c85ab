package track

import (
	"net/netip"
	"slices"

	"qsniff/dissect/finding"
)

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
func (h *Hosts) countClient(f *Fact, c *soleClient) {
	if c.isOver || f.Step != Answer {
		return
	}
	host := HostOf(f.Client)
	if c.answers == 0 {
		c.host, c.first = host, f.Frame
		c.isOver = !f.Client.Addr().Unmap().IsPrivate()
	}
	if c.isOver = c.isOver || host != c.host; c.isOver {
		return
	}
	c.answers++
	if n := int(c.numPorts); n < len(c.ports) && !slices.Contains(c.ports[:n], f.Client.Port()) {
		c.ports[n] = f.Client.Port()
		c.numPorts++
	}
	if c.answers < soleAnswers || c.numPorts < solePorts {
		return
	}
	c.isOver = true
	at := *f
	at.Client = netip.AddrPortFrom(at.Client.Addr(), 0)
	h.raise(&at, c.first, finding.Expert{Code: &OneAddress, Addr: at.Client, A: uint64(c.answers), B: uint64(c.numPorts)}, false)
}

// serverOnly returns f as it is about its server and no client.
func serverOnly(f *Fact) *Fact {
	at := *f
	at.Client = netip.AddrPort{}
	return &at
}
