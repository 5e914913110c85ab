package testpcap

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
)

// maxTurns is how often a block is repeated at most. Chosen: larger captures are made
// by mkpcap when they are needed, and not kept in the repository.
const maxTurns = 10_000

// block holds the lines between @ repeat and @ done, which are repeated with another
// client each time.
type block struct {
	at      int // line of the directive
	turns   int
	clients netip.Prefix
	port    uint16 // of all of them; 0: each has another
	lines   []string
}

// parseRepeat parses N PREFIX [port=N]: how often, where the clients are, and which port
// all of them have.
func parseRepeat(at int, args []string) (*block, error) {
	if len(args) != 2 && len(args) != 3 {
		return nil, errors.New("want how often, and the network of the clients")
	}
	n, err := parseNumber(args[0], 1, maxTurns)
	if err != nil {
		return nil, err
	}
	p, err := netip.ParsePrefix(args[1])
	if err != nil || p != p.Masked() {
		return nil, fmt.Errorf("%q is not a network", args[1])
	}
	b := &block{at: at, turns: int(n), clients: p}
	if len(args) == 3 {
		port, ok := strings.CutPrefix(args[2], "port=")
		if !ok {
			return nil, fmt.Errorf("%q is not port=N", args[2])
		}
		if n, err = parseNumber(port, 1, 65_535); err != nil {
			return nil, err
		}
		b.port = uint16(n)
	}
	return b, nil
}

// addToBlock adds a line to the open block; done reports whether the line ends it.
func (p *parser) addToBlock(line string) (done bool, err error) {
	words := strings.Fields(strings.TrimPrefix(line, "@"))
	if strings.HasPrefix(line, "@") && len(words) > 0 {
		switch words[0] {
		case "done":
			return true, nil
		case "repeat":
			return false, errors.New("@ repeat: blocks do not nest")
		}
	}
	p.block.lines = append(p.block.lines, line)
	return false, nil
}

// runBlock parses the lines of a block b.turns times. Clients, their ports and what
// replaces ~ are random, and the same each time the source is read.
func (p *parser) runBlock(b *block) error {
	rng := rand.New(rand.NewPCG(uint64(b.at), uint64(b.turns)))
	kept := p.client
	for range b.turns {
		p.client = netip.AddrPortFrom(randomAddr(rng, b.clients), uint16(1024+rng.IntN(1<<16-1024)))
		if b.port != 0 {
			p.client = netip.AddrPortFrom(p.client.Addr(), b.port)
		}
		nonce := fmt.Sprintf("%08x", rng.Uint32())
		for i, line := range b.lines {
			if at := strings.LastIndexByte(line, '~'); at >= 0 && strings.Count(line[:at], `"`)%2 == 0 { // outside of text
				line = line[:at] + nonce + line[at+1:]
			}
			if err := p.parseLine(b.at+i+1, line); err != nil {
				return err
			}
		}
		if err := p.finish(); err != nil {
			return err
		}
	}
	p.client = kept
	return nil
}

// randomAddr returns a random address of a network.
func randomAddr(rng *rand.Rand, n netip.Prefix) netip.Addr {
	b := n.Addr().AsSlice()
	for i := range b {
		free := min(max(8*(i+1)-n.Bits(), 0), 8)
		b[i] |= byte(rng.IntN(1 << free))
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}
