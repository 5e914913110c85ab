package flood

import (
	"strings"
	"testing"

	"qsniff/dissect"
	"qsniff/internal/track"
)

// TestGuessesThatSucceed: where a server answers guessed challenges, the incident says so
// first, with how much went to whom; where it refuses them, it does not.
func TestGuessesThatSucceed(t *testing.T) {
	for _, accepts := range []bool{true, false} {
		w := newWorld(7)
		s := w.server(usual, 27015)
		s.accepts = accepts
		w.daily(s, 2, 170*sec)
		c := w.client(70_009)
		w.every(20, t0, t0+30*sec, func(int) {
			s.take(request{from: c.host, port: 40001, ttl: c.ttl, asks: dissect.AskPlayers, key: w.r.Uint32()>>1 | 1}, nil)
		})
		w.run(170 * sec)
		var in *record
		for _, x := range w.incidents {
			if x.Kind == ChallengeBypass {
				in = x
			}
		}
		if in == nil {
			w.logIncidents(t)
			t.Fatalf("accepts %v: no bypass", accepts)
		}
		isTold := strings.HasPrefix(in.Evidence[0].Text, "GUESSED CHALLENGES WERE ANSWERED: ")
		if in.Succeeded != accepts || isTold != accepts {
			t.Errorf("accepts %v: succeeded %v, %v", accepts, in.Succeeded, in.Evidence[0])
		}
		l := &in.Leak
		switch {
		case !accepts && (l.Replies > 0 || len(l.To) > 0):
			t.Errorf("a leak of refused guesses: %+v", l)
		case !accepts:
		case l.Replies < 590 || l.Replies > 600 || l.Bytes != 520*l.Replies || len(l.To) != 1 || l.To[0].Addr != c.host.Addr():
			t.Errorf("%+v, want 600 replies of 520 bytes to %v", l, c.host.Addr())
		case strings.Count(evidenceText(in.Evidence), "WERE ANSWERED") != 1:
			t.Errorf("told more than once: %v", in.Evidence)
		case !strings.Contains(in.Evidence[0].Text, in.Leak.To[0].Addr.String()):
			t.Errorf("no receiver in %v", in.Evidence[0])
		}
	}
}

// TestLeakIsBounded: those who got the most stay, and a pause begins anew.
func TestLeakIsBounded(t *testing.T) {
	var x leak
	lim := Defaults()
	for i := range 100 {
		s := track.Sighting{Dst: track.Host{15: byte(i)}, Bytes: 10}
		x.add(&s, true, 5, lim.Quiet)
	}
	big := track.Sighting{Dst: track.Host{15: 200}, Bytes: 1000}
	for range 10 {
		x.add(&big, true, 6, lim.Quiet)
		x.add(&big, false, 6, lim.Quiet) // a further part
	}
	l := x.describe()
	if l.Replies != 110 || l.Bytes != 100*10+20*1000 || len(l.To) != leakReceivers {
		t.Errorf("%+v", l)
	}
	if to := l.To[0]; to.Addr != big.Dst.Addr() || to.Replies != 10 || to.Bytes != 20_000 {
		t.Errorf("most to %+v", to)
	}
	x.add(&big, true, 6+int32(lim.Quiet.Seconds()), lim.Quiet)
	if x.replies != 1 {
		t.Errorf("%d replies after a pause", x.replies)
	}
	if n := testing.AllocsPerRun(100, func() { x.add(&big, true, 200, lim.Quiet) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestGuessers: an answer counts only while the last request of its client was a guess.
func TestGuessers(t *testing.T) {
	var g guessers
	ask := track.Sighting{What: track.IsRequest, SrcPort: 40001, DstPort: 27015}
	answer := track.Sighting{What: track.IsReply, SrcPort: 27015, DstPort: 40001}
	other := track.Sighting{What: track.IsReply, SrcPort: 27015, DstPort: 40002}
	challenge := answer
	challenge.What = track.IsChallenge
	for _, s := range []*track.Sighting{&ask, &answer, &other, &challenge} {
		if s.What == track.IsRequest {
			s.Src = track.Host{15: 1}
		} else {
			s.Dst = track.Host{15: 1}
		}
		s.FillHashes(seed)
	}
	ask.ServerHash, answer.ServerHash, other.ServerHash, challenge.ServerHash = 9, 9, 9, 9
	g.recordRequest(&ask, true)
	if !g.isAnswer(&answer) || g.isAnswer(&other) || g.isAnswer(&challenge) {
		t.Error("of a guess, the answer with data and nothing else counts")
	}
	g.recordRequest(&ask, false)
	if g.isAnswer(&answer) {
		t.Error("it asked for something else since")
	}
}
