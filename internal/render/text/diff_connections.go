package text

import (
	"qsniff/internal/app/diff"
	"qsniff/internal/base/digits"
)

// writeConnections writes which connections over TCP are at one point only.
func (p *diffPage) writeConnections() {
	c := &p.r.Connections
	for s, n := range c.Only {
		if n == 0 {
			continue
		}
		answered := 0
		for i := range c.OneSided {
			if x := &c.OneSided[i]; x.Side == diff.Side(s) && x.IsAnswered {
				answered++
			}
		}
		p.writeLine(0, "Connections over TCP: %s at %s only, %s at both points.", grouped(n), diffSides[s], grouped(c.Both))
		if answered > 0 {
			p.writeLine(0, "%s there all the same: something between the points answers in place of the servers, such as a proxy.", digits.Counted(uint64(answered), "of them is accepted", "of them are accepted"))
		}
		const most = 3 // chosen: the summary stays on one screen
		shown := 0
		for i := range c.OneSided {
			if x := &c.OneSided[i]; x.Side == diff.Side(s) && shown < most {
				shown++
				p.writeLine(tableIndent, "%s to %s, %s frame %s", x.Client, x.Server, diffSides[s], grouped(x.Frame))
			}
		}
	}
}

// isReframedByOthers reports whether messages in datagrams were reframed: hosts and network cards cut and join TCP
// segments themselves.
func (p *diffPage) isReframedByOthers() bool {
	for i := range p.r.Differences {
		if d := &p.r.Differences[i]; d.Class == diff.Reframed && !d.IsTCP() {
			return true
		}
	}
	return false
}
