package text

import (
	"fmt"

	"qsniff/flood"
	"qsniff/internal/digits"
)

// noQueryFloods is the first line where there are none: with what else there was, for a
// reader whose server is down has to know where to look.
func (p *floodsPage) noQueryFloods(where string) string {
	text, n := "No query floods", &p.f.Others
	if c := n[flood.Alert]; c > 0 {
		text += ", " + digits.Counted(c, "other attack")
	}
	if c := n[flood.Warn]; c > 0 {
		text += ", " + digits.Counted(c, "other warning")
	}
	if c := p.f.Counts[flood.Info]; c > 0 {
		text += ", " + digits.Counted(c, "note")
	}
	return text + " " + where + p.otherTraffic()
}

// worthSaying is how many other packets a second are said on the first line: fewer are in
// every capture.
const worthSaying = 50

// otherTraffic says what else than queries came, in the second with most of it.
func (p *floodsPage) otherTraffic() string {
	x := &p.f.OtherPeak
	if x.Packets < worthSaying {
		return ""
	}
	of := "to " + x.Host.Addr().String()
	switch {
	case x.Class == nil && 2*x.Sessions >= x.Packets:
		of += ", most in sessions"
	case x.Class == nil:
	case x.Port != 0:
		of = fmt.Sprintf("%s to port %d of %s", x.Class.Says, x.Port, x.Host.Addr())
	default:
		of = fmt.Sprintf("%s to %s", x.Class.Says, x.Host.Addr())
	}
	return fmt.Sprintf("; %s a second arrived (%s)", digits.Counted(x.Packets, "other packet"), of)
}
