package rcon

import (
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"qsniff/dissect"
	"qsniff/internal/test/dissecttest"
	"qsniff/internal/test/hextest"
	"qsniff/internal/test/race"
)

// check fails where a session holds more than its limits say.
func check(t *testing.T, v *dissecttest.Conversation) {
	t.Helper()
	s := v.Stream.Session.(*session)
	held := cap(s.cur.body) + cap(s.ended.body)
	if held != v.Budget.Used || held > v.Budget.Limit {
		t.Fatalf("%d bytes held, %d of %d taken", held, v.Budget.Used, v.Budget.Limit)
	}
	if len(s.cur.body) > maxBody || len(s.asked) > maxAsked || len(s.cur.frames) > maxFrames {
		t.Fatalf("%d bytes, %d requests, %d frames", len(s.cur.body), len(s.asked), len(s.cur.frames))
	}
	if len(unknown.asked) != 0 || unknown.seq != 0 || unknown.auth != authNone {
		t.Fatal("something was learned about no connection")
	}
}

func FuzzFrame(f *testing.F) {
	for _, s := range []string{auth, auth + exec, empty + authOK, value, probe3, trailer3, stray + value, mongo, mongoReply, `ffffffff 00`,
		`0d000000 01000000 00000000 c3a9 c3a9 62 0000`, `"text" 0000` + value + empty + stray + value + empty + stray} {
		f.Add(hextest.Bytes(f, s), uint8(0))
		f.Add(hextest.Bytes(f, s), uint8(15))
	}
	f.Fuzz(func(t *testing.T, b []byte, how uint8) {
		d := New()
		c := context(dissect.Direction(how%3), nil)
		if how&4 != 0 {
			s := newSession(&dissect.Budget{})
			s.afterEmpty = how&8 != 0
			c.Stream.Session = s
		}
		c.Stream.Last = how&16 != 0
		r := d.Frame(c, b)
		switch {
		case r.Conf == dissect.No && r != dissect.Record{}:
			t.Errorf("no, but %+v", r)
		case r.Conf == dissect.No && c.Stream.Session != nil:
			t.Error("a known connection is refused")
		case r.Conf == dissect.No:
		case r.Need != 0 && r.Need <= len(b), r.Need == 0 && (r.Len <= 0 || r.Len > len(b)):
			t.Errorf("no progress: %+v of %d bytes", r, len(b))
		case r.Need > 4*maxSize || r.Len > 4*maxSize:
			t.Errorf("too much: %+v", r)
		}
		if again := d.Frame(c, b); again != r {
			t.Errorf("framed twice: %+v, then %+v", r, again)
		}
		for _, last := range []bool{false, true} {
			skip, need := d.Resync(c, b, last)
			if skip < 0 || skip > len(b) || need != 0 && need <= len(b)-skip || last && need != 0 || !last && need == 0 && skip == len(b) {
				t.Errorf("last %v: skips %d of %d, needs %d", last, skip, len(b), need)
			}
			if again, _ := d.Resync(c, b[skip:], last); again != 0 {
				t.Errorf("last %v: %d more are skipped after %d", last, again, skip)
			}
		}
		for _, wire := range []int{len(b), len(b) + 1, strayLen, r.Len} {
			m := dissecttest.RunStream(d, c, b, max(wire, len(b)))
			dissecttest.CheckInvariants(t, m)
			if m.Status == dissect.Truncated && wire <= len(b) {
				t.Error("truncated, but all was captured")
			}
		}
	})
}

// FuzzSession reads its input as a script: who speaks, what kind of packet, how it
// is cut.
func FuzzSession(f *testing.F) {
	f.Add([]byte("\x00\x13pw\x01\x12\x00\x22status\x00\x30\x01\x20output\x01\x20more\x01\x30\x01\x3f"), uint16(1<<15))
	f.Add([]byte("\x00\x23abc\x04\x20def\x02\x01\x20ghi\x05\x21"), uint16(0))
	f.Fuzz(func(t *testing.T, script []byte, budget uint16) {
		v := dissecttest.NewConversation(t, New(), int(budget))
		v.Stream.Opened = budget&1 == 0
		for len(script) >= 2 {
			who, what := script[0], script[1]
			n := min(int(what>>4)*3, len(script)-2)
			body := string(script[2 : 2+n])
			script = script[2+n:]
			dir := dissect.ToServer
			if who&1 != 0 {
				dir = dissect.ToClient
			}
			b := packetBytes(int32(what>>4)-1, int32(what&7), body)
			switch {
			case who&2 != 0:
				v.Lose(dir)
				continue
			case who&4 != 0:
				b = []byte(body)
			case who&8 != 0:
				b = packetBytes(int32(what>>4)-1, int32(what&7), strings.Repeat(body, 300))
			case who&16 != 0 && len(body) > 0:
				binary.LittleEndian.PutUint32(b, uint32(len(b)-sizeLen)+uint32(body[0])-'a')
			}
			v.Send(dir, b)
			check(t, v)
		}
		v.End()
		check(t, v)
		v.Reset()
		if s := v.Stream.Session.(*session); s.seq != 0 || len(s.asked) != 0 || s.cur.body != nil {
			t.Error("a reset session remembers")
		}
	})
}

// A reply of any length takes what its limits allow, and is counted to its end.
func TestLimits(t *testing.T) {
	const parts = 200
	text := strings.Repeat("x", 4096)
	for _, tc := range []struct {
		name         string
		budget, kept int
	}{
		{"reply's limit", 1 << 20, maxBody},
		{"budget", 100_000, 64 << 10},
		{"no budget", 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := dissecttest.NewConversation(t, New(), tc.budget)
			v.Send(dissect.ToServer, packetBytes(2, numExec, "cvarlist"))
			for range parts {
				v.Send(dissect.ToClient, packetBytes(2, numValue, text))
				check(t, v)
			}
			v.End()
			m := v.Messages[len(v.Messages)-1]
			if m.Type != &typeJoined || m.Status != dissect.Truncated || m.Wire != parts*len(text) || len(m.Data) != tc.kept {
				t.Errorf("\ngot  %v %v, %d of %d bytes\nwant truncated, %d of %d bytes", m.Type.Name, m.Status, len(m.Data), m.Wire, tc.kept, parts*len(text))
			}
			if n := m.Find(&defReplyParts).Num; n != parts || len(v.Stream.Frames) != maxFrames || v.Stream.Frames[1] != 3 {
				t.Errorf("%d parts, frames %v", n, v.Stream.Frames)
			}
			v.Reset()
		})
	}
}

// Between replies a session gives back what a long one took.
func TestKeepsLittle(t *testing.T) {
	v := dissecttest.NewConversation(t, New(), 1<<20)
	for id := range int32(4) {
		v.Send(dissect.ToServer, packetBytes(id+2, numExec, "a"))
		for range 10 {
			v.Send(dissect.ToClient, packetBytes(id+2, numValue, strings.Repeat("x", 4096)))
		}
	}
	v.Send(dissect.ToServer, packetBytes(8, numExec, "a"))
	v.Send(dissect.ToClient, packetBytes(8, numValue, "b"))
	v.Send(dissect.ToClient, packetBytes(9, numValue, "c"))
	if v.Budget.Used > 2*keepBody {
		t.Errorf("%d bytes are kept", v.Budget.Used)
	}
}

// A session takes a kilobyte and a half, a third of it for the passwords that were shown,
// and with its lists full what the limits say.
func TestSessionSize(t *testing.T) {
	const fresh, most = 3 << 9, 5 << 10
	n := unsafe.Sizeof(session{})
	full := n + maxAsked*unsafe.Sizeof(request{}) + 2*maxFrames*unsafe.Sizeof(uint64(0))
	if n > fresh || full > most {
		t.Errorf("\ngot  %d bytes, %d when full\nwant at most %d and %d", n, full, fresh, most)
	}
}

// newSession returns the memory for one connection.
func newSession(b *dissect.Budget) *session { return New().AppendSessions(nil, 1, b)[0].(*session) }

// Sessions that are allocated together have nothing else in common.
func TestSessionsShareNothing(t *testing.T) {
	const n = 32
	var list []dissect.Session
	if got := testing.AllocsPerRun(1, func() { list = New().AppendSessions(list[:0], n, new(dissect.Budget)) }); got > 4 && !race.Enabled {
		t.Errorf("%v allocations for %d sessions", got, n)
	}
	for round := range uint64(3) { // within their first room, at its end, and beyond
		for i := range list {
			s := list[i].(*session)
			for range askedAtFirst {
				s.asked = append(s.asked, request{seq: uint64(i)})
			}
			for range framesAtFirst {
				s.cur.frames, s.ended.frames = append(s.cur.frames, uint64(i)), append(s.ended.frames, uint64(i)+round)
			}
		}
	}
	for i := range list {
		s := list[i].(*session)
		isOwn := func(at int, frame, more uint64) bool { return frame == uint64(i)+more*uint64(at/framesAtFirst) }
		for at, q := range s.asked {
			if q.seq != uint64(i) {
				t.Errorf("request %d of session %d is that of session %d", at, i, q.seq)
			}
		}
		for at := range s.cur.frames {
			if !isOwn(at, s.cur.frames[at], 0) || !isOwn(at, s.ended.frames[at], 1) {
				t.Errorf("frame %d of session %d is another one's", at, i)
			}
		}
	}
}

// The lists of a session serve the next connection too: consoles come and go.
func TestSessionReused(t *testing.T) {
	s := newSession(&dissect.Budget{Limit: 1 << 20})
	fill := func() {
		for range maxAsked {
			s.asked = append(s.asked, request{})
		}
		for i := range uint64(maxFrames) {
			s.cur.frames, s.ended.frames = append(s.cur.frames, i), append(s.ended.frames, i)
		}
		s.Reset()
	}
	if n := testing.AllocsPerRun(10, fill); n > 0 && !race.Enabled {
		t.Errorf("%v allocations for a connection", n)
	}
	if len(s.asked)+len(s.cur.frames)+len(s.ended.frames) > 0 {
		t.Error("something is left of the connection before")
	}
}

// The oldest request is forgotten first.
func TestAsked(t *testing.T) {
	v := dissecttest.NewConversation(t, New(), 1<<20)
	for id := range int32(maxAsked + 2) {
		v.Send(dissect.ToServer, packetBytes(id+2, numExec, "a"))
	}
	s := v.Stream.Session.(*session)
	if len(s.asked) != maxAsked || s.findRequest(3) >= 0 || s.findRequest(4) != 0 {
		t.Errorf("%d requests, the first has id %d", len(s.asked), s.asked[0].id)
	}
}

// The password shows in no field, whatever is cut and whoever sends it as what.
func TestPasswordIsHidden(t *testing.T) {
	const password = "geheim99"
	for _, step := range []struct {
		name string
		num  int32
		size int // added to the right one
	}{
		{"login", numAuth, 0}, {"type 0", numValue, 0}, {"type 4", numOutput, 0}, {"type -1", -1, 0},
		{"size too small by 1", numAuth, -1}, {"size too small by 2", numAuth, -2}, {"size too small by 5", numAuth, -5}, {"size too small by 8", numAuth, -8},
		{"size impossible", numAuth, -15}, {"size too large", numAuth, 1},
	} {
		b := packetBytes(1, step.num, password)
		binary.LittleEndian.PutUint32(b, uint32(minSize+len(password)+step.size))
		for n := range len(b) + 1 {
			v := dissecttest.NewConversation(t, New(), 1<<20)
			v.Send(dissect.ToServer, b[:n])
			v.Lose(dissect.ToServer)
			v.End()
			for _, m := range v.Messages {
				for i := range m.Fields {
					f := &m.Fields[i]
					if f.Def.Flags&dissect.Secret == 0 && strings.ContainsAny(string(m.Raw(f))+string(m.Bytes(f)), password) {
						t.Errorf("%s, %d of %d bytes: %s shows %q", step.name, n, len(b), f.Def.Name, m.Bytes(f))
					}
				}
				for i := range m.Expert {
					if text := string(m.Expert[i].AppendText(nil)); strings.Contains(text, password) {
						t.Errorf("%s: %s", step.name, text)
					}
				}
			}
		}
	}
}

// Of a command whose size is wrong, as where a client counts characters, what the
// size leaves over shows in no field either.
func TestPasswordBehindCommandIsHidden(t *testing.T) {
	const password = "geheim99"
	for short := range len(password) + 2 {
		b := packetBytes(2, numExec, "sv_password "+password)
		b[0] -= byte(short)
		v := dissecttest.NewConversation(t, New(), 1<<20)
		v.Send(dissect.ToServer, up(1, numAuth, "pw"))
		v.Send(dissect.ToClient, packetBytes(1, numAuthResponse, ""))
		v.Send(dissect.ToServer, b)
		v.End()
		if n := len(v.Messages); n < 3 {
			t.Fatalf("%d short: %d messages", short, n)
		}
		for _, m := range v.Messages[2:] {
			for i := range m.Fields {
				f := &m.Fields[i]
				if raw := string(m.Raw(f)); f.Def.Flags&dissect.Secret == 0 && f.Def != &defBody && strings.ContainsAny(raw, password) {
					t.Errorf("%d short: %s shows %q", short, f.Def.Name, raw)
				}
			}
		}
	}
}

// Judging a stream costs about the same for each byte, however it arrives.
func TestResyncIsLinear(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	header := hextest.Bytes(t, `ff0f0000 01000000 00000000`)
	var b []byte
	for len(b) < 1<<18 {
		b = append(b, header...)
		for range r.IntN(40) {
			b = append(b, 'x')
		}
	}
	c := context(dissect.ToClient, newSession(&dissect.Budget{}))
	calls, looked := 0, 0
	lo, need := 0, 1
	for n := 0; n < len(b); n += 100 {
		for lo < n && n-lo >= need {
			skip, more := New().Resync(c, b[lo:n], false)
			calls++
			looked += n - lo
			lo, need = lo+skip, more
			if more == 0 {
				t.Fatalf("a packet at %d", lo)
			}
		}
	}
	if looked > 16*len(b) {
		t.Errorf("%d calls look at %d bytes of %d", calls, looked, len(b))
	}
}
