package stats

import (
	"net/netip"
	"slices"
	"testing"

	"qsniff/dissect/finding"
	"qsniff/internal/base/hostset"
	"qsniff/internal/test/race"
	"qsniff/internal/track"
)

var (
	toyError = &finding.Code{ID: "TOY-02", Severity: finding.Error, Seen: "in general", Text: toySentence}
	toyNote  = &finding.Code{ID: "TOY-01", Severity: finding.Note, Seen: "in general", Text: toySentence}
)

func toySentence(dst []byte, e *finding.Expert) []byte {
	return append(dst, "n="+string(rune('0'+e.A))...)
}

func found(code *finding.Code, a uint64, detail string) track.Found {
	return track.Found{Expert: finding.Expert{Code: code, Severity: code.Severity, Field: -1, A: a}, Detail: []byte(detail)}
}

// TestRepeats: findings of one kind between two hosts are one, whatever the client's port, and
// the first one gives its sentence. The worst come first.
func TestRepeats(t *testing.T) {
	c := NewFindingCollector(FindingOptions{})
	for i := range uint64(3) {
		f := ask(10 + i)
		f.Client = netip.AddrPortFrom(f.Client.Addr(), uint16(4000+i))
		c.AddFact(&f, []track.Found{found(toyNote, 1+i, "")}, nil)
	}
	once := found(toyError, 7, ": detail")
	once.Frames = [2]uint64{3, 20}
	c.AddFinding(20, start+5, server1, client1, once)
	c.AddFinding(21, start+6, netip.AddrPort{}, netip.AddrPort{}, found(toyNote, 8, ""))
	s := c.Summary()
	if len(s.Repeats) != 3 || s.Messages != 3 || s.Counts != [4]uint64{finding.Note: 4, finding.Error: 1} {
		t.Fatalf("got %+v", s)
	}
	for i, want := range []struct {
		text   string
		count  uint64
		client netip.AddrPort
		frames []uint64
	}{
		{"n=7: detail", 1, client1, []uint64{3, 20}},
		{"n=1", 3, netip.AddrPortFrom(client1.Addr(), 0), []uint64{10, 11, 12}},
		{"n=8", 1, netip.AddrPort{}, []uint64{21}},
	} {
		r := &s.Repeats[i]
		if got := string(r.AppendText(nil)); got != want.text || r.Count != want.count || r.Client != want.client || !slices.Equal(r.Frames, want.frames) {
			t.Errorf("%d: got %q %d times, %v, frames %v; want %+v", i, got, r.Count, r.Client, r.Frames, want)
		}
	}
}

// TestFindingOptions: milder findings are counted only; of other servers nothing is.
func TestFindingOptions(t *testing.T) {
	ours, err := hostset.Parse(server1.String())
	if err != nil {
		t.Fatal(err)
	}
	c := NewFindingCollector(FindingOptions{Ours: ours, Least: finding.Error})
	c.AddFinding(1, start, server1, client1, found(toyNote, 1, ""))
	c.AddFinding(2, start, server1, client1, found(toyError, 1, ""))
	c.AddFinding(3, start, server2, client1, found(toyError, 1, ""))
	other := ask(4)
	other.Server = server2
	c.AddFact(&other, []track.Found{found(toyError, 1, "")}, nil)
	s := c.Summary()
	if len(s.Repeats) != 1 || s.Counts != [4]uint64{finding.Note: 1, finding.Error: 1} || s.Messages != 0 {
		t.Errorf("got %+v", s)
	}
}

// TestRepeatsFill: most findings are made once, and their frames are allocated together. Of those
// that were made again, each keeps its own.
func TestRepeatsFill(t *testing.T) {
	c := NewFindingCollector(FindingOptions{})
	note := found(toyNote, 1, "")
	n := 0
	add := func() {
		n++
		client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)}), 4000)
		c.AddFinding(uint64(n), start, server1, client, note)
	}
	if got := testing.AllocsPerRun(framesAtOnce*3/2, add); got > 0 && !race.Enabled {
		t.Errorf("%v allocations for a finding", got)
	}
	last := n
	for n = 0; n < last; {
		add()
		c.AddFinding(uint64(n+1000), start, server1, netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)}), 4000), note)
	}
	s := c.Summary()
	for i := range s.Repeats {
		r := &s.Repeats[i]
		if want := []uint64{r.Frame, r.Frame + 1000}; !slices.Equal(r.Frames, want) {
			t.Errorf("frames of a finding\n got %v\nwant %v", r.Frames, want)
		}
	}
	if len(s.Repeats) != last {
		t.Errorf("%d findings, want %d", len(s.Repeats), last)
	}
}

// TestRepeatsEvicted: a flood of notes evicts notes and no errors; what was evicted is still in the
// counts, and nothing is allocated for it.
func TestRepeatsEvicted(t *testing.T) {
	const n = 3 * maxRepeats
	c := NewFindingCollector(FindingOptions{})
	c.AddFinding(1, start, server1, client1, found(toyError, 1, ""))
	next := netip.MustParseAddr("10.0.0.0")
	note := found(toyNote, 1, ": of the network")
	add := func() {
		next = next.Next()
		c.AddFinding(2, start, server1, netip.AddrPortFrom(next, 4000), note)
	}
	for range n {
		add()
	}
	if got := testing.AllocsPerRun(100, add); got > 0 && !race.Enabled {
		t.Errorf("%v allocations", got)
	}
	s := c.Summary()
	var sum uint64
	for i := range s.Repeats {
		sum += s.Repeats[i].Count
	}
	last := &s.Repeats[len(s.Repeats)-1]
	if s.Repeats[0].Expert.Code != toyError || sum != s.Counts[finding.Note]+1 || s.Evicted != s.Counts[finding.Note]-maxRepeats ||
		last.Evicted != s.Evicted || string(last.AppendText(nil)) != "in general" {
		t.Errorf("%d kept, sum %d, %d evicted, last %+v", len(s.Repeats), sum, s.Evicted, last)
	}
}
