package flood

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"qsniff/dissect"
	"qsniff/internal/track"
)

// TestPulses: seconds of an attack add up over pauses, those of a crowd do not.
func TestPulses(t *testing.T) {
	const burst = 100
	type second struct {
		n      int // how many of them
		judged Kind
		rate   float64
	}
	pulse, calm, none := second{1, FloodSpoofed, 1000}, second{1, Crowd, 1000}, second{1, NoKind, 3}
	tail := func(k Kind) second { return second{1, k, 10} }
	for _, tt := range []struct {
		name    string
		seconds []second
		want    int // alerts
	}{
		{"twice", []second{pulse, {14, NoKind, 3}, pulse}, 2},
		{"the longest pause", []second{pulse, {59, NoKind, 3}, pulse}, 2},
		{"a longer one", []second{pulse, {60, NoKind, 3}, pulse}, 1},
		{"at burst_rate", []second{{1, FloodFew, 100}, {5, NoKind, 3}, {1, FloodFew, 100}}, 2},
		{"below it", []second{{1, FloodFew, 99}, {5, NoKind, 3}, {1, FloodFew, 99}}, 0},
		{"a pause is quiet", []second{pulse, {5, NoKind, 249}, pulse}, 2},
		{"and not only less", []second{pulse, none, {1, NoKind, 250}, pulse}, 1},
		{"loud and no attack", []second{pulse, none, calm, calm, none, pulse}, 1},
		{"a crowd as it turned out", []second{pulse, tail(Crowd), none, pulse}, 1},
		{"and each time", []second{pulse, tail(Crowd), none, pulse, tail(Poller)}, 0},
		{"an attack as it turned out", []second{calm, tail(FloodSpoofed), none, calm, tail(FloodSpoofed)}, 2},
		{"what the sketches hold later is no news", []second{pulse, none, tail(FloodSuspect), tail(Crowd), tail(FloodSpoofed), none, pulse}, 2},
		{"all seconds of a pulse", []second{pulse, pulse, none, pulse}, 3},
	} {
		var p pulses
		now := int32(100)
		for _, x := range tt.seconds {
			for range x.n {
				p.add(verdict{judged: x.judged, kind: x.judged, rate: x.rate}, now, burst)
				now++
			}
		}
		if p.alerts != tt.want {
			t.Errorf("%s\ngot  %d alerts\nwant %d", tt.name, p.alerts, tt.want)
		}
	}
}

// TestIsLongEnough: how many seconds open an incident, by level and pace.
func TestIsLongEnough(t *testing.T) {
	lim := &Thresholds{FastTicks: 2, SlowTicks: 4, WarnTicks: 9}
	for _, tt := range []struct {
		kind                    Kind
		isUrgent                bool
		alerts, warnings, notes int // the fewest seconds of each, alone
	}{
		{FloodSpoofed, false, 4, 9, never},
		{FloodSpoofed, true, 2, 9, never},
		{FloodCompleting, false, never, 4, never},
		{FloodCompleting, true, never, 2, never},
		{FloodSuspect, true, never, 5, never},
		{FloodSuspect, false, never, 9, never},
		{Crowd, true, never, never, 9},
		{Crowd, false, never, never, 9},
	} {
		least := func(k func(n int) streak) int {
			for n := range never {
				if (&course{streak: k(n)}).isLongEnough(lim, verdict{kind: tt.kind, isUrgent: tt.isUrgent}) {
					return n
				}
			}
			return never
		}
		alerts := least(func(n int) streak { return streak{alerts: n} })
		warnings := least(func(n int) streak { return streak{warnings: n} })
		notes := least(func(n int) streak { return streak{notes: n} })
		if alerts != tt.alerts || warnings != tt.warnings || notes != tt.notes {
			t.Errorf("%v, urgent %t: from %d alerts, %d warnings, %d notes on\nwant %d, %d, %d", tt.kind, tt.isUrgent,
				alerts, warnings, notes, tt.alerts, tt.warnings, tt.notes)
		}
	}
}

// never is more seconds than open any incident.
const never = 20

// TestWaitingServerIsEvicted: a server whose incident waits for a pulse makes room for a busier
// one, and the incident ends; one with a flood that goes on does not.
func TestWaitingServerIsEvicted(t *testing.T) {
	for _, goesOn := range []bool{false, true} {
		w := newWorld(1)
		w.d = New(Defaults(), 0.01, nil)
		w.d.AddObserver(w.found)
		w.d.servers.maxHeavy = 1
		s, o := w.server(usual, 27015), w.server("198.51.100.18", 27015)
		invent(w, s, 1000, 60*sec, 65*sec)
		if goesOn {
			invent(w, s, 1000, 65*sec, 160*sec)
		}
		invent(w, o, 20, 150*sec, 160*sec)
		w.run(160 * sec)
		isWatched := w.d.servers.find(&o.host, o.port) != nil
		ended := w.incidents[0].End != 0
		if isWatched == goesOn || ended == goesOn {
			t.Errorf("a flood goes on: %t\ngot  the other server watched: %t, the incident ended: %t", goesOn, isWatched, ended)
			w.logIncidents(t)
		}
	}
}

// trialLog is an Advisor whose trials count what they are shown of what goes to port 27015.
type trialLog struct{ junk, replies, wanted int }

func (x *trialLog) Advise(*Incident)         {}
func (x *trialLog) Try(*Incident) Trial      { return x }
func (x *trialLog) Restart(*Incident)        {}
func (x *trialLog) Answers() Answers         { return Answers{} }
func (x *trialLog) Measure(*Incident, bool)  {}
func (x *trialLog) Refit(*Incident) bool     { return false }
func (x *trialLog) Conclude(*Incident, bool) {}
func (x *trialLog) Apply(s *track.Sighting, proven bool) {
	switch {
	case s.DstPort != 27015:
	case s.What == track.IsJunk:
		x.junk++
	case s.What == track.IsReply && proven:
		x.wanted++
	case s.What == track.IsReply:
		x.replies++
	}
}

// TestTrialsSeeReplies: random bytes after the mark of queries may be those of a reply. Rules
// at the server they are sent to look at them like at the rest, and so does the trial; a reply
// that the server asked for is no attacker's.
func TestTrialsSeeReplies(t *testing.T) {
	w := newWorld(1)
	log := &trialLog{}
	w.d = New(Defaults(), 1, log)
	s := w.server(usual, 27015)
	w.daily(s, 2, 60*sec)
	send := func(what track.PacketType) {
		w.see(track.Sighting{What: what, Proto: a2s, Asks: dissect.AskInfo, Src: w.anywhere(), SrcPort: w.port(), Dst: s.host, DstPort: s.port, Bytes: 40})
	}
	w.every(1000, 40*sec, 60*sec, func(int) { send(track.IsJunk) })
	w.every(10, 50*sec, 60*sec, func(int) { send(track.IsReply) })
	peer := w.client(5)
	w.at(55*sec, func() { // the server is a client of another one
		ask := track.Sighting{What: track.IsRequest, Proto: a2s, Asks: dissect.AskInfo, Src: s.host, SrcPort: s.port, Dst: peer.host, DstPort: 27011, Bytes: 25}
		w.see(ask)
		ask.What, ask.Src, ask.Dst, ask.SrcPort, ask.DstPort = track.IsReply, ask.Dst, ask.Src, ask.DstPort, ask.SrcPort
		w.see(ask)
	})
	w.run(60 * sec)
	if log.junk < 10_000 || log.replies != 100 || log.wanted != 1 {
		t.Errorf("trials were shown %d datagrams of junk, %d replies to the server that it did not ask for and %d that it did",
			log.junk, log.replies, log.wanted)
	}
}

// TestPaused: an incident is paused from the end of a pulse on while another one may continue it, and not while
// it goes on or once it is over.
func TestPaused(t *testing.T) {
	w := newWorld(1)
	s := w.server(usual, 27015)
	var open *Incident
	w.d.AddObserver(func(in *Incident, e Event) {
		if open = in; e == Ends {
			open = nil
			if in.Paused != 0 {
				t.Errorf("paused at its end since %v", in.Paused)
			}
		}
	})
	invent(w, s, 1, 0, 300*sec) // time passes
	invent(w, s, 1000, 60*sec, 75*sec)
	invent(w, s, 1000, 100*sec, 115*sec)
	at := map[int]int64{} // seconds from the begin of the capture, by that of the sample
	w.every(1, 0, 300*sec, func(i int) {
		switch {
		case open == nil:
		case open.Paused == 0:
			at[i] = 0
		default:
			at[i] = (open.Paused - dawn.UnixNano() + int64(sec)/2) / int64(sec)
		}
	})
	w.run(300 * sec)
	for i, want := range map[int]int64{72: 0, 82: 75, 99: 75, 110: 0, 123: 115, 180: 115} {
		if got, isOpen := at[i]; got != want || !isOpen {
			t.Errorf("second %d: paused since %d, open %t\nwant %d, true", i, got, isOpen, want)
		}
	}
	if _, isOpen := at[290]; isOpen {
		t.Error("the incident stays open")
	}
}

// TestLimitOfServer: what a server answers in a flood that leaves most unanswered is its limit, one that answers all
// showed none, and what it answers after a minute does not count.
func TestLimitOfServer(t *testing.T) {
	for _, x := range []struct {
		name     string
		limit    int // answers a second; 0: none
		later    int // the same 100 s into the flood
		from, to float64
	}{{"all", 0, 0, 0, 0}, {"60 a second", 60, 60, 55, 66}, {"less later", 60, 5, 55, 66}, {"all later", 60, 10_000, 55, 66}} {
		w := newWorld(1)
		s := w.server(usual, 27015)
		var second time.Duration
		n := 0
		if x.limit > 0 {
			s.away = func(now time.Duration) bool {
				if now.Truncate(sec) != second {
					second, n = now.Truncate(sec), 0
				}
				n++
				return n > x.limit && now < t0+100*sec || n > x.later && now >= t0+100*sec
			}
		}
		w.daily(s, 2, 300*sec)
		invent(w, s, 1000, t0, t0+150*sec)
		w.run(300 * sec)
		if len(w.incidents) != 1 {
			t.Fatalf("%s: %d incidents", x.name, len(w.incidents))
		}
		if got := w.incidents[0].Stands; got < x.from || got > x.to {
			t.Errorf("%s: a limit of %.1f/s, want %g to %g", x.name, got, x.from, x.to)
		}
	}
}

// TestDescribe: a viewer gets an open incident as it is now, and what the incident comes to in the end is the same
// whether it was looked at or not.
func TestDescribe(t *testing.T) {
	play := func(look bool) (seen []float64, all []*record) {
		w := newWorld(3)
		s := w.server(usual, 27015)
		w.daily(s, 2, 150*sec)
		invent(w, s, 1000, t0, t0+40*sec)
		if look {
			kept := Collector{KeepsOpen: true, Describe: w.d.Describe}
			w.d.AddObserver(kept.Observe)
			w.every(3, t0, 150*sec, func(int) {
				for _, in := range kept.Incidents() {
					seen = append(seen, in.Sources)
				}
			})
		}
		w.run(150 * sec)
		return seen, w.incidents
	}
	seen, got := play(true)
	_, want := play(false)
	if len(seen) < 100 || !slices.IsSorted(seen) || seen[60] < 1.5*seen[10] {
		t.Errorf("sources as they were seen: %.0f", seen)
	}
	if len(want) != 1 || !reflect.DeepEqual(want, got) {
		t.Errorf("not looked at %+v\nlooked at     %+v", want, got)
	}
}
