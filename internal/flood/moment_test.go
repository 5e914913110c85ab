package flood

import (
	"testing"
	"time"

	"qsniff/dissect"
)

// TestNoNewsAtOnce: what an incident is when it is opened is no change of it. The floods
// grow fourfold a second, so that the second that opens the incident has many times the
// rate of what led to it.
func TestNoNewsAtOnce(t *testing.T) {
	opened := 0
	for _, rate := range []float64{150, 400, 3000} {
		for _, into := range []time.Duration{0, 700 * time.Millisecond, 950 * time.Millisecond} {
			w := newWorld(uint64(rate))
			at := map[uint64]int32{} // second in which each was opened
			w.d.AddObserver(func(in *Incident, e Event) {
				switch e {
				case Begins:
					opened++
					at[in.ID] = w.d.book.Now
					if in.Peak < rate/20 {
						t.Errorf("%v/s, %v into a second: %s is opened with a peak of %v/s", rate, into, in.Name(), in.Peak)
					}
				case Changes:
					if w.d.book.Now == at[in.ID] {
						t.Errorf("%v/s, %v into a second: %s changes in the second that opened it", rate, into, in.Name())
					}
				}
			})
			s := w.server(usual, 27015)
			w.daily(s, 2, 50*sec)
			c := w.client(70_001)
			ask := func(int) { w.query(c, 57147, s, dissect.AskInfo, false) }
			w.every(rate/16, 40*sec+into, 41*sec+into, ask)
			w.every(rate/4, 41*sec+into, 42*sec+into, ask)
			w.every(rate, 42*sec+into, 48*sec, ask)
			w.run(50 * sec)
		}
	}
	if opened < 9 {
		t.Errorf("%d incidents were opened, want one of each flood", opened)
	}
}
