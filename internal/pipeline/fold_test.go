package pipeline

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render/dialogue"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/test/protos"
	"qsniff/internal/track"
)

// paper is a writer that fails from the nth write on; 0: never.
type paper struct {
	bytes.Buffer
	fails, writes, longest int
}

var errFull = errors.New("disk full")

func (p *paper) Write(b []byte) (int, error) {
	p.writes++
	if p.longest = max(p.longest, len(b)); p.fails > 0 && p.writes >= p.fails {
		return 0, errFull
	}
	return p.Buffer.Write(b)
}

// TestDialoguesAtTheEnd: dialogues that are all open at the end of the capture are written
// in parts, and a writer that fails within them ends the run with its error.
func TestDialoguesAtTheEnd(t *testing.T) {
	const clients = 250
	data := asked{sources: clients, rounds: 1, times: always(1)}.write(t)
	run := func(p *paper) error {
		talks := dialogue.New(dialogue.Options{Renderer: jsonl.New(jsonl.Options{Layout: true})})
		_, err := Run(t.Context(), Config{Source: open(t, data), Registry: protos.Registry(t), Out: p, Jobs: 2, Dialogues: talks})
		return err
	}
	whole := &paper{}
	if err := run(whole); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(whole.Bytes(), []byte("\n")); n != clients || whole.writes < 3 || whole.longest > 2*writeSize {
		t.Errorf("%d lines in %d writes of at most %d bytes\nwant %d in at least 3 of at most %d",
			n, whole.writes, whole.longest, clients, 2*writeSize)
	}
	for _, fails := range []int{1, 2, whole.writes} {
		p := &paper{fails: fails}
		if err := run(p); !errors.Is(err, errFull) || p.writes != fails {
			t.Errorf("write %d fails: got %v after %d writes", fails, err, p.writes)
		}
	}
}

// fact returns the fact of a message of an exchange at a time.
func factAt(step track.Step, id uint64, at time.Duration) *track.Fact {
	return &track.Fact{Age: int64(at), Part: track.Part{Step: step, ID: id, Took: int64(time.Millisecond), Trip: -1}}
}

// TestStreamOutcomes: an exchange of a stream is decided by its answer, by the silence that
// track reports, and by time where there is neither.
func TestStreamOutcomes(t *testing.T) {
	f := &Filter{Program: compile(t, "exchange.answered")}
	truth := filter.Truth(0xaaaaaaaaaaaaaaaa) // of the only comparison
	for _, tc := range []struct {
		name        string
		facts       []*track.Fact
		match, sure bool
		undecided   uint64
	}{
		{"asked", []*track.Fact{factAt(track.Ask, 1, 0)}, false, false, 0},
		{"answered", []*track.Fact{factAt(track.Ask, 1, 0), factAt(track.Answer, 1, time.Second)}, true, true, 0},
		{"silent", []*track.Fact{factAt(track.Ask, 1, 0), factAt(track.Silence, 1, 0)}, false, true, 0},
		{"challenged", []*track.Fact{factAt(track.Ask, 1, 0), factAt(track.Challenge, 1, 1)}, false, false, 0},
		{"client left", []*track.Fact{factAt(track.Ask, 1, 0), factAt(track.Challenge, 1, 1), factAt(track.Ask, 2, 2*challengeWait)}, false, true, 0},
		{"waits on", []*track.Fact{factAt(track.Ask, 1, 0), factAt(track.Ask, 2, outcomeWait-1)}, false, false, 0},
		{"time is over", []*track.Fact{factAt(track.Ask, 1, 0), factAt(track.Ask, 2, outcomeWait+1)}, false, true, 0},
		{"late", []*track.Fact{factAt(track.Ask, 1, 0), factAt(track.Silence, 1, 0), factAt(track.Late, 1, time.Minute)}, true, true, 1},
		{"too late", []*track.Fact{factAt(track.Ask, 1, 0), factAt(track.Silence, 1, 0), factAt(track.Answer, 1, time.Minute)}, true, true, 1},
	} {
		o := newStreamOutcomes(f)
		for _, x := range tc.facts {
			o.addFact(x)
		}
		match, sure := o.decide(truth, 1)
		if match != tc.match || sure != tc.sure || o.undecided != tc.undecided {
			t.Errorf("%s: match %v, sure %v, %d undecided", tc.name, match, sure, o.undecided)
		}
	}
}

// TestHoldLimits: what is held is bounded in bytes and in time, in order, and what had to
// leave early is counted.
func TestHoldLimits(t *testing.T) {
	f := &Filter{Program: compile(t, "exchange.answered")}
	h := &hold{outcomes: newStreamOutcomes(f)}
	from := &segment{buf: make([]byte, segmentSize)}
	x := span{end: len(from.buf), truth: 0xaaaaaaaaaaaaaaaa, isMessage: true, post: -1}
	for i := range 2*holdBytes/segmentSize + 1 {
		x.key, x.fact = uint64(i), *factAt(track.Ask, uint64(i+1), 0)
		h.outcomes.addFact(&x.fact)
		h.add(from, &x)
	}
	left := uint64(0)
	for ; !h.isEmpty(); h.drop() {
		_, first := h.front()
		if _, due := h.isDue(first); !due {
			break
		}
		if first.key != left {
			t.Fatalf("%d leaves as number %d", first.key, left)
		}
		left++
	}
	if h.bytes > holdBytes || left == 0 || h.outcomes.undecided != left {
		t.Errorf("%d bytes are held; %d left, %d undecided", h.bytes, left, h.outcomes.undecided)
	}
	for id := range uint64(1000) { // each asks on, so that it is time alone that ends it
		h.outcomes.addFact(factAt(track.Again, id+1, holdTime+1))
	}
	for ; !h.isEmpty(); h.drop() {
		_, first := h.front()
		if _, due := h.isDue(first); !due {
			t.Fatal("it is held for longer than holdTime")
		}
	}
	if h.bytes != 0 {
		t.Errorf("%d bytes of nothing", h.bytes)
	}
}

// TestHoldDetail: a held note keeps its detail when the segment that it came in is used again.
func TestHoldDetail(t *testing.T) {
	f := &Filter{Program: compile(t, "exchange.answered")}
	h := &hold{outcomes: newStreamOutcomes(f)}
	from := &segment{}
	for _, detail := range []string{"the first", "the other"} {
		from.reset()
		from.addFound(track.Found{Detail: []byte(detail)})
		h.add(from, &span{found: [2]int32{0, 1}, post: -1})
	}
	for _, want := range []string{"the first", "the other"} {
		seg, x := h.front()
		if got := seg.found[x.found[0]:x.found[1]]; len(got) != 1 || string(got[0].Detail) != want {
			t.Errorf("got  %+v\nwant %q", got, want)
		}
		h.drop()
	}
}

// TestOutcomesLimit: exchanges beyond the room for them count as unanswered, and are
// counted.
func TestOutcomesLimit(t *testing.T) {
	o := NewOutcomes(compile(t, "exchange.answered"))
	for page := range uint64(maxOutcomePages + 5) {
		o.AddFact(factAt(track.Answer, page*outcomePageFrames+7, 0), nil, nil)
	}
	answered := o.program.Index(&filter.Outcome{Answered: true})
	if o.unkept != 5 || o.indexOf(7) != answered || o.indexOf(8) == answered || o.indexOf(maxOutcomePages*outcomePageFrames+7) == answered {
		t.Errorf("%d were not kept", o.unkept)
	}
}
