package sample

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"
	"time"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/render"
)

var server = netip.MustParseAddrPort("198.18.0.1:27015")

const start = 1_700_000_000_000_000_000

// scribe writes a dialogue as its turns, and a message as its data.
type scribe struct{}

func (scribe) Append(dst []byte, e *render.Event) []byte {
	return append(dst, e.Msg.Data...)
}

func (scribe) AppendRecord(dst []byte, _ *render.Record) []byte { return append(dst, "record"...) }

func (scribe) AppendDialogue(dst []byte, d *render.Dialogue) []byte {
	for i := range d.Turns {
		dst = append(dst, d.Turns[i].Text...)
	}
	return append(dst, '\n')
}

// add adds an exchange of one message to s, rendered as the pipeline does.
func add(s *Store, id uint64, when time.Duration, text string, codes ...*finding.Code) {
	m := &dissect.Message{Data: []byte(text)}
	for _, c := range codes {
		m.Expert = append(m.Expert, finding.Expert{Code: c, Severity: c.Severity})
	}
	turn := s.Append(nil, &render.Event{Frame: id, Msg: m, Exchange: render.Exchange{ID: id}})
	s.AppendDialogue(nil, &render.Dialogue{ID: id, Server: server, First: start + when.Nanoseconds(), Requests: 1, Turns: []render.Turn{{Text: turn}}})
}

// chosen are the texts that s chooses.
func chosen(s *Store, most int, isFirst func(*Entry) bool) (all []string, left uint64) {
	entries, left := s.Choose(most, isFirst)
	for i := range entries {
		all = append(all, string(s.AppendText(nil, &entries[i])))
	}
	return all, left
}

func nobody(*Entry) bool { return false }

// TestAll: what fits is kept whole and in the order of ids.
func TestAll(t *testing.T) {
	s := New(scribe{}, nil, 1)
	for _, id := range []uint64{3, 1, 2} {
		add(s, id, time.Duration(id)*time.Second, strings.Repeat("x", int(id)))
	}
	all, left := chosen(s, 100, nobody)
	if got := strings.Join(all, " "); got != "x xx xxx" || left != 0 {
		t.Errorf("%q, %d left", got, left)
	}
}

// TestFirst: where not all fit, those with findings and those that the caller asks for come
// first, and leave a quarter to others.
func TestFirst(t *testing.T) {
	warn := &finding.Code{ID: "T-1", Severity: finding.Warn}
	s := New(scribe{}, nil, 1)
	for i := range uint64(100) {
		switch i % 10 {
		case 0:
			add(s, i+1, time.Duration(i)*time.Second, "finding  ", warn)
		case 1:
			add(s, i+1, time.Duration(i)*time.Second, "asked for")
		default:
			add(s, i+1, time.Duration(i)*time.Second, "other    ")
		}
	}
	all, left := chosen(s, 300, func(e *Entry) bool { return e.ID%10 == 2 })
	count := map[string]int{}
	for _, text := range all {
		count[strings.TrimSpace(text)]++
	}
	if count["finding"]+count["asked for"] != 20 || count["other"] != 10 || left != 70 {
		t.Errorf("%v, %d left", count, left)
	}
}

// TestEven: of a capture that is a thousand times too long, each tenth of the time has about
// as many exchanges, and memory is bounded.
func TestEven(t *testing.T) {
	const exchanges = 400_000
	s := New(scribe{}, nil, 1.0/16)
	text := strings.Repeat("x", 300)
	for i := range uint64(exchanges) {
		add(s, i+1, time.Duration(i)*time.Millisecond, text)
	}
	if len(s.text) > s.max || len(s.entries) > maxEntries {
		t.Errorf("%d bytes, %d entries", len(s.text), len(s.entries))
	}
	entries, left := s.Choose(30_000, nobody)
	if left != uint64(exchanges-len(entries)) || len(entries) < 80 {
		t.Errorf("%d chosen, %d left", len(entries), left)
	}
	var tenths [10]int
	for i := range entries {
		tenths[(entries[i].First-start)/(exchanges*1_000_000/10)]++
	}
	for i, n := range tenths {
		if n < 5 || n > 15 {
			t.Errorf("tenth %d has %d of %d: %v", i, n, len(entries), tenths)
		}
	}
}

// TestLong: a long exchange takes the place of several short ones last, and never that of all.
func TestLong(t *testing.T) {
	s := New(scribe{}, nil, 1.0/16)
	add(s, 1, 0, strings.Repeat("y", s.max))
	add(s, 2, 0, strings.Repeat("y", 10_000))
	for i := range uint64(50) {
		add(s, i+3, time.Duration(i)*time.Second, "short")
	}
	all, left := chosen(s, 5000, nobody)
	if len(all) != 50 || left != 2 {
		t.Errorf("%d chosen, %d left", len(all), left)
	}
}

// TestSampled: late in a capture an exchange is rendered as a whole or not at all, and those
// that are not are counted.
func TestSampled(t *testing.T) {
	s := New(scribe{}, nil, 1)
	whole := 0
	for id := uint64(1 << 20); id < 1<<20+1000; id++ {
		var turns []render.Turn
		for range 2 {
			turns = append(turns, render.Turn{Text: s.Append(nil, &render.Event{Frame: id, Msg: &dissect.Message{Data: []byte("abc")}, Exchange: render.Exchange{ID: id}})})
		}
		if bytes.Contains(turns[0].Text, []byte("abc")) != bytes.Contains(turns[1].Text, []byte("abc")) {
			t.Fatalf("of exchange %d one message was rendered", id)
		}
		if isRendered(id) {
			whole++
		}
		s.AppendDialogue(nil, &render.Dialogue{ID: id, Server: server, First: start, Requests: 1, Turns: turns})
	}
	all, left := s.Choose(1<<20, nobody)
	if len(all) != whole || left != uint64(1000-whole) || whole == 0 || whole > 50 {
		t.Errorf("%d of %d chosen, %d left", len(all), whole, left)
	}
}

// TestSampledFinding: late in a capture a message with something wrong is rendered all the same,
// and its exchange says how many others are not there.
func TestSampledFinding(t *testing.T) {
	warn := &finding.Code{ID: "T-1", Severity: finding.Warn}
	s := New(scribe{}, nil, 1)
	id := uint64(1 << 20)
	for isRendered(id) {
		id++
	}
	plain := &dissect.Message{Data: []byte("question ")}
	wrong := &dissect.Message{Data: []byte("answer"), Expert: []finding.Expert{{Code: warn, Severity: finding.Warn}}}
	var turns []render.Turn
	for _, m := range []*dissect.Message{plain, wrong} {
		turns = append(turns, render.Turn{Text: s.Append(nil, &render.Event{Frame: id, Msg: m, Exchange: render.Exchange{ID: id}})})
	}
	d := &render.Dialogue{ID: id, Server: server, First: start, Requests: 1, Turns: turns}
	s.AppendDialogue(nil, d)
	if all, left := chosen(s, 1000, nobody); len(all) != 1 || all[0] != "answer" || left != 0 || d.Omitted != 1 {
		t.Errorf("%q, %d left, %d omitted", all, left, d.Omitted)
	}
}
