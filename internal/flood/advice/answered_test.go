package advice

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"qsniff/dissect"
	"qsniff/internal/flood"
)

// drip is the packets of a flood against the lines for "flood_spoofed-gated": 2,000 a second, so
// that what is not let pass first is dropped more often than not.
func drip(tr *trial, from, to time.Duration) {
	for at := from; at < to; at += time.Second / 2000 {
		n := uint32(at / (time.Second / 2000))
		src := netip.AddrFrom4([4]byte{20, byte(n >> 16), byte(n >> 8), byte(n)}).String()
		tr.Apply(pktFrom(pktRules, src, at), false)
	}
}

// TestAnsweredPass: a client that the server answered for a challenge passes before the cap, up
// to a limit of its own, for ten minutes; who was sent a challenge only does not.
func TestAnsweredPass(t *testing.T) {
	tr := newTrial(adviceIncident("flood_spoofed-gated"))
	end := time.Duration(0)
	lost := func() uint64 { c := tr.outcomeSoFar(); return c.FloodDropped + c.ClientLost }
	passed := func(src string, at time.Duration) (n int) {
		drip(tr, max(end, at-5*time.Second), at) // the cap is used up
		for range 40 {
			before := lost()
			if tr.Apply(pktFrom(pktRules, src, at), true); lost() == before {
				n++
			}
			drip(tr, at, at+time.Millisecond)
			at += time.Millisecond
		}
		end = at
		return n
	}
	const answered, challenged, later = "192.0.2.1", "192.0.2.2", "192.0.2.3"
	tr.Apply(pktTo(pktAnswer, answered, 2*time.Second), true)
	tr.Apply(pktTo(pktChallenge, challenged, 2*time.Second), true)
	tr.Apply(pktTo(pktAnswer, later, 2*time.Second), true)
	if n := passed(answered, 3*time.Second); n < 30 || n > 38 {
		t.Errorf("%d of 40 queries of an answered client passed, want 30 and a few by the cap", n)
	}
	if n := passed(challenged, 4*time.Second); n > 15 {
		t.Errorf("%d of 40 queries of a client that was only challenged passed", n)
	}
	if n := passed(later, 2*time.Second+answeredIdle); n > 15 {
		t.Errorf("%d of 40 queries passed ten minutes after the answer", n)
	}
}

// TestAnsweredAreGated: an answer that the server gives without a challenge lets nobody pass,
// nor does a challenge, whoever is sent one; and where it gives all of them so, or its protocol
// has no challenge, no line is about it.
func TestAnsweredAreGated(t *testing.T) {
	in := *adviceIncident("flood_spoofed-gated")
	for _, x := range []struct {
		name  string
		gated dissect.Asked
		proto string
		want  bool
	}{
		{"rules alone", dissect.AskRules, "a2s", false},
		{"information", dissect.AskInfo, "a2s", true},
		{"nothing", 0, "a2s", false},
		{"no challenge in the protocol", dissect.AskStatus, "ase", false},
	} {
		in.Gated, in.Proto = x.gated, protoNamed(x.proto)
		tr := newTrial(&in)
		tr.Apply(pktTo(pktAnswer, "192.0.2.1", 0), true)
		tr.Apply(pktTo(pktChallenge, "192.0.2.2", 0), false)
		if n := tr.attempts[0].answered.numKeys; n > 1 || (n == 1) != x.want {
			t.Errorf("%s: %d sources pass after an answer with information, want %v", x.name, n, x.want)
		}
		text := strings.Join(tr.attempts[0].plan.paragraphs(&in), "\n") + tr.attempts[0].plan.NFTables()
		if has := strings.Contains(text, "answered"); has != (x.gated&(dissect.AskInfo|dissect.AskRules) != 0) {
			t.Errorf("%s: lines about who was answered: %v\n%s", x.name, has, text)
		}
	}
	in = *adviceIncident("flood_few")
	in.Gated = dissect.AskInfo
	if tr := newTrial(&in); tr.attempts[0].plan.needsAnswered() {
		t.Error("lines without a cap look at answers")
	}
	if p := advisor.newPlan(&in); p.kind != flood.FloodFew || strings.Contains(p.formatIPTables(), "ipset") {
		t.Error(p.formatIPTables())
	}
}

// TestAnswerToDropped: the answer to a request that the lines dropped lets nobody pass: the
// server would not have sent it.
func TestAnswerToDropped(t *testing.T) {
	tr := newTrial(adviceIncident("flood_spoofed-gated"))
	drip(tr, 0, 2*time.Second)
	dropped, n := tr.outcomeSoFar().FloodDropped, 0
	for i := 0; n == 0 && i < 10; i++ { // one of them is dropped
		tr.Apply(pktFrom(pktRules, "192.0.2.1", 2*time.Second), false)
		n = int(tr.outcomeSoFar().FloodDropped - dropped)
	}
	tr.Apply(pktTo(pktAnswer, "192.0.2.1", 2*time.Second), false)
	if n != 1 || tr.attempts[0].answered.numKeys != 0 {
		t.Errorf("%d dropped, %d sources pass", n, tr.attempts[0].answered.numKeys)
	}
}
