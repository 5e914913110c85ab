package render

import (
	"testing"

	"qsniff/internal/test/race"
)

// TestHeadlineFindings: each id is listed once, in the order of the turns, also one that another
// begins with, and nothing is allocated.
func TestHeadlineFindings(t *testing.T) {
	d := &Dialogue{Turns: []Turn{{Text: []byte(" ")}, {Text: []byte(" A-01 A-011")}, {Text: []byte(" A-01"), IsRecord: true}, {Text: []byte(" B-02")}}}
	var h Headline
	if got := string(h.AppendFindings(nil, d, ",", `"`)); got != `"A-01","A-011","B-02"` {
		t.Errorf("got %s", got)
	}
	if got := string(h.AppendFindings([]byte("x "), d, " ", "")); got != "x A-01 A-011 B-02" {
		t.Errorf("got %s", got)
	}
	buf := make([]byte, 0, 100)
	if n := testing.AllocsPerRun(10, func() { h.AppendFindings(buf, d, ",", `"`) }); n > 0 && !race.Enabled {
		t.Errorf("%v allocations", n)
	}
}
