package track

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

const (
	us     = int64(1e3)
	second = 1000 * ms
)

// packet is a message on its way, with the truth about it.
type packet struct {
	at     int64 // passes the capture
	kind   byte
	key    uint64
	round  int     // of its socket: what the client asks at one time
	query  byte    // the kind of request that it is about
	cause  *packet // of a reply
	socket int
	frame  uint64 // 0 if the capture missed it
}

func (p *packet) reply() bool { return testKinds[p.kind].Reply }

// world is a number of clients and a server, and what the capture between them saw.
type world struct {
	r       *rand.Rand
	todo    []event
	packets []*packet
}

type event struct {
	at int64
	do func(at int64)
}

func (w *world) later(at int64, do func(int64)) { w.todo = append(w.todo, event{at, do}) }

func (w *world) run() {
	for len(w.todo) > 0 {
		i := 0
		for j := range w.todo {
			if w.todo[j].at < w.todo[i].at {
				i = j
			}
		}
		e := w.todo[i]
		w.todo = slices.Delete(w.todo, i, i+1)
		e.do(e.at)
	}
}

func (w *world) chance(percent int) bool { return w.r.IntN(100) < percent }

// send takes p past the capture to its receiver. It may be lost before the
// capture or after it, be missed by it, and come twice.
func (w *world) send(at int64, p packet, receive func(at int64, p *packet)) {
	copies := 1
	if w.chance(3) {
		copies = 2
	}
	for range copies {
		at += w.r.Int64N(15_000) * us
		if w.chance(4) {
			continue
		}
		q := p
		q.at = at
		if !w.chance(2) {
			w.packets = append(w.packets, &q)
		} else {
			q.at = -1
		}
		if !w.chance(4) {
			w.later(at+w.r.Int64N(15_000)*us, func(at int64) { receive(at, &q) })
		}
	}
}

// habits are how a server answers.
type habits struct {
	challenge uint64 // 0: demands none
	twoForms  bool
	slow      bool
	dead      bool
}

var answers = map[byte]byte{'T': 'I', 'U': 'D', 'V': 'E'}

func (w *world) serve(at int64, s *habits, p *packet, receive func(int64, *packet)) {
	if s.dead {
		return
	}
	at += (50 + w.r.Int64N(40_000)) * us
	if s.slow && w.chance(20) {
		at += 2*second + w.r.Int64N(4_000_000)*us
	}
	a := packet{round: p.round, query: p.query, cause: p, socket: p.socket}
	switch {
	case s.challenge != 0 && p.key != s.challenge:
		a.kind, a.key = 'A', s.challenge
		w.send(at, a, receive)
		return
	case s.twoForms && p.kind == 'T':
		a.kind = 'm'
		w.send(at, a, receive)
	}
	a.kind = answers[p.kind]
	w.send(at+w.r.Int64N(200)*us, a, receive)
}

// ask lets a client ask until it has an answer, or four times with a second
// between.
func (w *world) ask(at int64, s *habits, socket, round int, kind byte) {
	done, key, tries, last := false, uint64(0), 0, int64(0)
	var try func(int64)
	receive := func(at int64, p *packet) {
		switch {
		case done:
		case p.kind != 'A':
			done = true
		case key == 0:
			key = p.key
			tries--
			try(at + w.r.Int64N(500)*us)
		}
	}
	try = func(at int64) {
		if done || tries == 4 {
			return
		}
		tries++
		last = at
		w.send(at, packet{kind: kind, key: key, round: round, query: kind, socket: socket},
			func(at int64, p *packet) { w.serve(at, s, p, receive) })
		w.later(at+second, func(now int64) {
			if last == at {
				try(now)
			}
		})
	}
	w.later(at, try)
}

// seen is what the capture shows of one question, by the truth.
type seen struct {
	id       uint64
	requests []*packet
	given    bool
	waits    bool // the last request is not replied to
	answered bool
	active   int64 // last request or challenge
	silence  int   // that there must be
}

// round is what the capture shows of what a client asked at one time. The capture
// determines its messages up to the first that could have been caused by another
// request than it was, or by one that the capture does not show. What comes after
// that is not compared, because the tables may have taken it for something else.
type round struct {
	of        map[byte]*seen
	ambiguous bool
}

// want says what the capture shows p to be, as text that said also makes; empty
// where it does not determine that. Where only the exchange is sure, exact is
// false.
func (d *round) want(p *packet) (w string, exact bool) {
	s := d.of[p.query]
	if s == nil {
		s = &seen{}
		d.of[p.query] = s
	}
	if d.ambiguous {
		return "", false
	}
	if !p.reply() {
		return d.request(s, p)
	}
	if p.cause.frame == 0 || p.cause.frame > p.frame {
		d.ambiguous = true
		return "", false
	}
	if p.kind == 'A' {
		return d.challenge(s, p)
	}
	return d.answer(s, p)
}

func (d *round) request(s *seen, p *packet) (string, bool) {
	if s.answered || s.id != 0 && p.at-s.active > int64(answerWait) {
		d.ambiguous = true
		return "", false
	}
	step := Again
	switch {
	case s.id == 0:
		s.id, step = p.frame, Ask
	case p.key != 0 && s.given && !slices.ContainsFunc(s.requests, func(q *packet) bool { return q.key == p.key }):
		step = Echo
	}
	s.requests = append(s.requests, p)
	s.waits, s.active = true, p.at
	return fmt.Sprint(step, " ", s.id), true
}

func (d *round) challenge(s *seen, p *packet) (string, bool) {
	waiting := 0
	for _, o := range d.of {
		if o.waits {
			waiting++
		}
	}
	switch {
	case waiting == 0 && p.at-s.active <= int64(answerWait):
		return "", false // a copy, which changes nothing
	case waiting != 1, !s.waits, s.requests[len(s.requests)-1] != p.cause, p.at-s.active > int64(answerWait):
		d.ambiguous = true
		return "", false
	}
	s.waits, s.given, s.active = false, true, p.at
	return replySaid(Challenge, s, p), true
}

func (d *round) answer(s *seen, p *packet) (string, bool) {
	able := s.requests
	if s.given {
		able = slices.DeleteFunc(slices.Clone(able), func(q *packet) bool { return q.key == 0 })
	}
	exact := len(able) > 0 && able[len(able)-1] == p.cause
	step := Answer
	switch {
	case s.answered:
		step = Extra
	case p.at-s.active > int64(answerWait):
		step = Late
		if s.waits {
			s.silence++
		}
	}
	s.answered, s.waits = true, false
	return replySaid(step, s, p), exact
}

func replySaid(step Step, s *seen, p *packet) string {
	return fmt.Sprint(step, " ", s.id, " to ", p.cause.frame, " after ", p.at-p.cause.at)
}

// partSaid is a part as want says it.
func partSaid(p Part) string {
	if p.Request == 0 {
		return fmt.Sprint(p.Step, " ", p.ID)
	}
	return fmt.Sprint(p.Step, " ", p.ID, " to ", p.Request, " after ", p.Took)
}

// TestModel: clients ask with loss, repetition, copies and changed order, and the
// pairing is the truth wherever the capture determines it, to the nanosecond. So is
// who was left without an answer.
func TestModel(t *testing.T) {
	total, compared, exactly, silences := 0, 0, 0, 0
	for seed := range uint64(200) {
		w := &world{r: rand.New(rand.NewPCG(seed, 7))}
		for socket := range 8 {
			s := &habits{twoForms: w.chance(30), slow: w.chance(40), dead: w.chance(10)}
			if w.chance(60) {
				s.challenge = 1<<32 | uint64(1+w.r.IntN(1<<20))
			}
			for n := range 4 {
				at := int64(n)*40*second + w.r.Int64N(3_000_000)*us
				for _, kind := range []byte("TUV") {
					if w.chance(50) {
						w.ask(at+w.r.Int64N(100_000)*us, s, socket, n, kind)
					}
				}
			}
		}
		w.run()
		m := &modelRun{t: t, seed: seed, rounds: map[[2]int]*round{}, silent: map[uint64]int{}}
		m.replay(w)
		total, compared, exactly, silences = total+len(w.packets), compared+m.compared, exactly+m.exactly, silences+m.silences
		if t.Failed() {
			return
		}
	}
	t.Logf("%d messages, %d compared, %d of them with times; %d unanswered", total, compared, exactly, silences)
	if total < 20_000 || exactly < total/2 || silences < 200 {
		t.Errorf("the model compares too little")
	}
}

// modelRun compares one world.
type modelRun struct {
	t        *testing.T
	seed     uint64
	rounds   map[[2]int]*round
	silent   map[uint64]int // by exchange
	compared int
	exactly  int
	silences int
}

func (m *modelRun) replay(w *world) {
	slices.SortStableFunc(w.packets, func(a, b *packet) int { return int(a.at - b.at) })
	for i, p := range w.packets {
		p.frame = uint64(i + 1)
	}
	x := NewExchanges(DefaultExchanges, NewFlows(100))
	x.ReportSilence = func(f *Fact) { m.silent[f.ID]++ }
	for _, p := range w.packets {
		x.Tick(p.at / (250 * ms) * (250 * ms))
		k := [2]int{p.socket, p.round}
		if m.rounds[k] == nil {
			m.rounds[k] = &round{of: map[byte]*seen{}}
		}
		want, exact := m.rounds[k].want(p)
		in := Message{Src: socketAddr(p.socket), Dst: server, Proto: &testProto, Type: testKinds[p.kind], Key: p.key,
			Frame: p.frame, Nanos: p.at, Age: p.at, Reply: p.reply()}
		if in.Reply {
			in.Src, in.Dst = in.Dst, in.Src
		}
		part := x.Place(&in)
		got := partSaid(part)
		if want == "" {
			continue
		}
		m.compared++
		if !exact { // the exchange and the step
			got, _, _ = strings.Cut(got, " to ")
			want, _, _ = strings.Cut(want, " to ")
		} else {
			m.exactly++
		}
		if got != want {
			m.t.Errorf("seed %d, frame %d, socket %d, kind %c at %d\ngot  %s\nwant %s", m.seed, p.frame, p.socket, p.kind, p.at, got, want)
			return
		}
	}
	x.Tick(1000 * second)
	m.compareSilences()
}

func (m *modelRun) compareSilences() {
	for _, d := range m.rounds {
		for _, s := range d.of {
			if d.ambiguous || s.id == 0 {
				continue
			}
			want := s.silence
			if s.waits {
				want++
			}
			m.silences += want
			if got := m.silent[s.id]; got != want {
				m.t.Errorf("seed %d, exchange %d: silences\ngot  %d\nwant %d", m.seed, s.id, got, want)
			}
		}
	}
}

func socketAddr(n int) netip.AddrPort {
	return netip.AddrPortFrom(testClient.Addr(), uint16(50_000+n))
}
