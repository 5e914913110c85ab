package hub

import (
	"slices"
	"strings"
	"testing"
	"time"

	"qsniff/internal/fleet"
)

// TestTakeover: a hub that is killed and one that is ended are followed by others, which go on exactly.
func TestTakeover(t *testing.T) {
	w := newWorld(t)
	told := &sink{}
	a := w.run(w.hub(w.dial(nil), told))
	w.until("a leads", func() bool { return a.View().Leads })
	b := w.run(w.hub(w.dial(nil), told))
	w.attackAll("open", "ams-1", "fra-1")
	w.passAfter(a, 40*time.Second)
	w.until("the campaign is told", func() bool { return len(told.told()) == 1 })
	w.until("b shows what a wrote", func() bool { // that it was told, too: what a hub dies before writing is uncertain
		v := b.View()
		return len(v.Open) == 1 && !v.Leads && v.Leader.ID == a.ID() && v.Totals.Told == 1 && v.Pending == 0
	})
	a.kill()
	w.attackAll("open", "lon-1", "par-1")
	w.until("b leads", func() bool { return b.View().Leads })
	w.passAfter(b, 40*time.Second)
	w.until("b tells of twice as many hosts", func() bool { return len(told.told()) == 2 })
	c := w.run(w.hub(w.dial(nil), told))
	b.end()
	for _, s := range []string{"ams-1", "fra-1", "lon-1", "par-1"} {
		w.attack(s, "close")
	}
	w.until("c leads", func() bool { return c.View().Leads })
	for range 80 {
		for _, s := range []string{"ams-1", "fra-1", "lon-1", "par-1"} {
			w.publish(&fleet.Host{Program: "1.0", Input: "eth0", Servers: 1}, s, fleet.KindHost)
		}
		w.passAfter(c, fleet.Period)
	}
	w.until("the campaign is over", func() bool { return strings.Contains(w.numbers(), "close") })
	w.until("everybody is told", func() bool { return len(told.told()) == len(w.published()) })
	if got := w.numbers(); got != " open1 update2 close3" {
		t.Errorf("published:%s", got)
	}
	if all := told.told(); len(slices.Compact(slices.Sorted(slices.Values(all)))) != len(all) {
		t.Errorf("told twice: %q", all)
	}
	if x := c.View().Totals; x.Uncertain != 0 || x.Lost != 0 || x.Refused != 0 {
		t.Errorf("%+v", x)
	}
}

// TestCut: a hub whose machine is gone at any write to the broker, and the next one, publish each event
// once, and tell each at most once; what may have been told or not is counted.
func TestCut(t *testing.T) {
	whole := &cutter{}
	whole.left.Store(1 << 40)
	cutAt(t, whole)
	used := 1<<40 - whole.left.Load()
	if used < 20 {
		t.Fatalf("a hub writes %d times only: it is cut nowhere", used)
	}
	cuts := int64(80)
	if testing.Short() { // each takes half a second of CPU
		cuts = 6
	}
	step := max(1, used/cuts)
	for at := step; at < used; at += step {
		c := &cutter{}
		c.left.Store(at)
		cutAt(t, c)
	}
}

// cutAt runs a hub on a connection that is cut, then another one.
func cutAt(t *testing.T, c *cutter) {
	w := newWorld(t)
	first := w.hub(w.dial(nil), nil) // makes the streams
	w.attackAll("open", "ams-1", "fra-1")
	w.pass(40 * time.Second)
	told := &sink{}
	before := c.left.Load()
	second, isThere := w.tryHub(c, told)
	if isThere {
		a := w.run(second)
		w.until("it is cut, or has told", func() bool {
			return second.opt.Conn.IsClosed() || len(told.told()) > 0 && a.View().Leads && a.View().Pending == 0
		})
		a.kill()
	}
	first.opt.Messenger = told
	b := w.run(first)
	w.until("the next one leads", func() bool { return b.View().Leads && b.View().Pending == 0 && b.View().Totals.Events > 0 })
	w.until("it has published", func() bool { return w.numbers() != "" })
	if got := w.numbers(); got != " open1" {
		t.Errorf("cut at %d: published:%s", before, got)
	}
	v := b.View()
	if n := len(told.told()); n > 1 || uint64(n)+v.Totals.Uncertain < 1 {
		t.Errorf("cut at %d: told %d times, %d uncertain", before, n, v.Totals.Uncertain)
	}
	if v.Totals.Lost != 0 || v.Totals.Messages != 4 {
		t.Errorf("cut at %d: %+v", before, v.Totals)
	}
}

// tryHub makes a hub on a connection that may be cut before there is one.
func (w *world) tryHub(c *cutter, m Messenger) (*Hub, bool) {
	conn, err := connect(w.server.URL(), c)
	if err != nil {
		return nil, false
	}
	w.t.Cleanup(conn.Close)
	h, err := New(w.t.Context(), w.options(conn, m))
	if err != nil {
		return nil, false
	}
	h.pace = testPace
	return h, true
}

// TestUncertain: what a hub had passed on when it died, and was not known to be delivered, is told no
// second time.
func TestUncertain(t *testing.T) {
	w := newWorld(t)
	told := &sink{hangs: true}
	a := w.run(w.hub(w.dial(nil), told))
	w.attackAll("open", "ams-1", "fra-1")
	w.passAfter(a, 40*time.Second)
	w.until("the campaign is passed on", func() bool { return len(told.told()) == 1 })
	a.kill()
	next := &sink{}
	b := w.run(w.hub(w.dial(nil), next))
	w.until("b has taken over", func() bool { return b.View().Leads && b.View().Totals.Uncertain == 1 && b.View().Pending == 0 })
	if got := next.told(); len(got) > 0 {
		t.Errorf("told again: %q", got)
	}
}

// TestRefused: what no sensor can have sent is counted by who sent it, and does no harm.
func TestRefused(t *testing.T) {
	w := newWorld(t)
	h := w.hub(w.dial(nil), nil)
	w.raw("qsniff.ams-1.server", "1", []byte("{"))
	w.raw("qsniff.ams-1.host", "2", []byte(`{"v":99,"kind":"host","sensor":"ams-1"}`))
	w.raw("qsniff.fra-1.host", "3", []byte(`{"v":1,"kind":"host","sensor":"ams-1","run":"x","seq":1,"time":1}`))
	w.raw("qsniff.fra-1.host", "4", []byte(`{"v":1,"kind":"host","sensor":"fra-1"}`))
	a := w.run(h)
	w.until("all are refused", func() bool { return a.View().Totals.Refused == 4 })
	want := []Refused{{"ams-1", fleet.BadForm, 1}, {"ams-1", fleet.BadVersion, 1}, {"fra-1", fleet.BadHead, 1}, {"fra-1", fleet.BadSender, 1}}
	if got := a.View().Refused; !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// TestRefusersAreBounded: invented names take no memory.
func TestRefusersAreBounded(t *testing.T) {
	var r refusals
	for i := range 10 * mostRefusers {
		r.add(strings.Repeat("x", i%64)+string(rune('a'+i/64)), fleet.BadForm)
	}
	all, sum := r.list(), uint64(0)
	for _, x := range all {
		sum += x.Count
	}
	if len(all) > mostRefusers+len(fleet.Reasons) || sum != 10*mostRefusers {
		t.Errorf("%d counters of %d messages", len(all), sum)
	}
}

// TestLost: what the stream dropped before any hub read it is counted.
func TestLost(t *testing.T) {
	w := newWorld(t)
	h := w.hub(w.dial(nil), nil)
	a := w.run(h)
	w.attackAll("open", "ams-1")
	w.until("it is read", func() bool { return a.View().Totals.Messages == 2 })
	a.end()
	w.attackAll("update", "ams-1", "ams-1", "ams-1")
	for _, name := range []string{"QSNIFF_COUNTS", "QSNIFF_EVENTS"} {
		s, err := w.js.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Purge(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w.attackAll("update", "ams-1")
	b := w.run(w.hub(w.dial(nil), nil))
	w.until("the rest is read", func() bool { return b.View().Totals.Messages == 4 })
	if got := b.View().Totals.Lost; got != 6 {
		t.Errorf("lost: %d, not 6", got)
	}
}
