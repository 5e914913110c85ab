package text

import (
	"fmt"

	"qsniff/internal/base/digits"
	"qsniff/internal/flood"
)

// noQueryFloods returns the first line of a page without query floods. It names what else there
// was, because a reader whose server is down has to know where to look.
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

// worthSaying is from how many other packets a second on the first line names them: fewer are
// in every capture.
const worthSaying = 50

// otherTraffic returns what else than queries came, in the second with most of it. It names
// sessions only where nothing else reached worthSaying.
func (p *floodsPage) otherTraffic() string {
	x := &p.f.OtherPeak
	switch n := p.f.Sessions; {
	case x.Packets >= worthSaying:
	case n >= worthSaying:
		return fmt.Sprintf("; other packets were of sessions, %s a second at most", grouped(n))
	default:
		return ""
	}
	of := "to " + x.Host.Addr().String()
	switch {
	case x.Class == nil:
	case x.Port != 0:
		of = fmt.Sprintf("%s to port %d of %s", x.Class.Says, x.Port, x.Host.Addr())
	default:
		of = fmt.Sprintf("%s to %s", x.Class.Says, x.Host.Addr())
	}
	return fmt.Sprintf("; %s a second arrived (%s)", digits.Counted(x.Packets, "other packet"), of)
}
