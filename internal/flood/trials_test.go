package flood

import (
	"testing"

	"qsniff/dissect"
	"qsniff/internal/track"
)

// trialLog is an Advisor whose trials count what they are shown of what goes to port 27015.
type trialLog struct{ junk, replies, wanted int }

func (x *trialLog) Advise(*Incident)         {}
func (x *trialLog) Try(*Incident) Trial      { return x }
func (x *trialLog) Restart(*Incident)        {}
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
