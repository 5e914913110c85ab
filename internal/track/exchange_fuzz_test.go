package track

import (
	"net/netip"
	"slices"
	"testing"
)

// FuzzExchanges: whatever comes in whatever order and at whatever time, parts refer
// to requests of the same client that came before, times are times, nobody is
// called silent twice for one question, and the tables keep their size.
func FuzzExchanges(f *testing.F) {
	f.Add([]byte{0, 0, 0, 10, 5, 7, 12, 0, 7, 20, 6, 0})
	f.Add([]byte{0, 1, 0, 1, 5, 9, 250, 12, 250, 12, 250, 12, 250, 12, 0, 6, 0})
	f.Fuzz(func(t *testing.T, in []byte) {
		const size = 4
		x := NewExchanges(size, NewFlows(100))
		v := &invariants{t: t, requests: map[uint64]netip.AddrPort{}, silent: map[uint64]bool{}}
		x.ReportSilence = v.silence
		at := int64(0)
		for len(in) >= 3 {
			v.step(x, in[:3], &at)
			in = in[3:]
			if n := x.count[open] + x.count[challenged] + x.count[ended]; n != x.ring.Len() {
				t.Fatalf("%v make %d, and there are %d", x.count, n, x.ring.Len())
			}
		}
		x.Tick(at + int64(answerWait) + 1)
		if n := x.count[open] + x.count[challenged]; n > 0 {
			t.Errorf("%d exchanges wait when their time is over", n)
		}
	})
}

type invariants struct {
	t        *testing.T
	frame    uint64
	requests map[uint64]netip.AddrPort // by frame
	silent   map[uint64]bool
}

// step plays three bytes: how much later, what by whom, and a challenge.
func (v *invariants) step(x *Exchanges, b []byte, at *int64) {
	const letters = "TUVWNRLAImDEXl?"
	*at += int64(b[0]&0x7f) * 50 * ms
	age := *at
	x.Tick(age)
	nanos := age
	if b[0]&0x80 != 0 { // time stamps go astray, ages do not
		nanos -= 700 * ms
	}
	what := int(b[1]) % (len(letters) + 2)
	client := netip.AddrPortFrom(testClient.Addr(), uint16(b[1])>>6)
	v.frame++
	m := Message{Src: client, Dst: server, Proto: &testProto, Frame: v.frame, Nanos: nanos, Age: age}
	switch {
	case what == len(letters):
		x.RecordGap(age)
		return
	case what > len(letters):
		m.Src, m.Dst, m.Reply = server, client, true
		x.RecordPart(&m)
		return
	}
	m.Type = testKinds[letters[what]]
	m.Reply = m.Type == nil || m.Type.Reply
	if b[2]&0xf != 0 {
		m.Key = 1<<32 | uint64(b[2]&0xf)
	}
	if b[2]&0x80 != 0 && m.Type != nil {
		m.Conn = 1 + uint64(client.Port()) // one connection between two ends
	}
	if m.Reply {
		m.Src, m.Dst = m.Dst, m.Src
		m.Frame -= min(uint64(b[2]>>4&3), m.Frame-1) // the first of several packets
	} else {
		v.requests[m.Frame] = client
	}
	v.check(&m, client, x.Place(&m))
}

func (v *invariants) check(m *Message, client netip.AddrPort, p Part) {
	known := func(frame uint64) bool { return v.requests[frame] == client }
	paired := p.Step != NoStep && p.Step != Stray
	switch {
	case p.Step >= Step(len(steps)) || p.Step == Silence,
		paired != (p.ID != 0),
		p.ID != 0 && (!known(p.ID) || p.ID > m.Frame && m.Conn == 0),
		p.Request != 0 && (!m.Reply || !known(p.Request) || p.Request < p.ID || p.Request >= m.Frame && m.Conn == 0),
		p.Took < -1 || p.Took >= 0 && p.Request == 0,
		p.Trip < -1 || p.Trip >= 0 && p.Step != Answer,
		!m.Reply && slices.Contains([]Step{Challenge, Answer, Extra, Late, Stray}, p.Step),
		m.Reply && slices.Contains([]Step{Ask, Again, Echo}, p.Step),
		p.Step == Ask && p.ID != m.Frame:
		v.t.Errorf("message %+v\ngot  %+v", m, p)
	}
}

func (v *invariants) silence(f *Fact) {
	if v.silent[f.ID] || v.requests[f.ID] != f.Client || v.requests[f.Frame] != f.Client || f.Frame < f.ID || f.Step != Silence {
		v.t.Errorf("silence, said before: %v\ngot  %+v", v.silent[f.ID], f)
	}
	v.silent[f.ID] = true
}
