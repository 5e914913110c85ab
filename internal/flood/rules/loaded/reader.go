package loaded

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"sync"
	"time"

	"qsniff/internal/base/digits"
	"qsniff/internal/flood"
)

// Reader has another process read the rules that are loaded, every now and then. Its methods may be called
// on nil, which knows nothing, and from any goroutine.
type Reader struct {
	cmd *exec.Cmd
	in  io.WriteCloser

	mu      sync.Mutex
	last    *Table // nil: none yet, or the other process has ended
	samples []sample
}

// sample is what was counted at a time.
type sample struct {
	at      time.Time
	targets []Target
}

// Start starts cmd, which calls Serve on its standard input and output.
func Start(cmd *exec.Cmd) (*Reader, error) {
	r := &Reader{cmd: cmd}
	var err error
	if r.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go r.run(json.NewDecoder(bufio.NewReader(out)))
	return r, nil
}

// run asks for tables until the other process ends.
func (r *Reader) run(answers *json.Decoder) {
	for {
		t := new(Table)
		_, err := io.WriteString(r.in, "\n")
		if err == nil {
			err = answers.Decode(t)
		}
		if err != nil {
			r.put(nil, time.Now())
			_ = r.cmd.Wait() // its end is what is wanted, or cannot be helped
			return
		}
		r.put(t, time.Now())
		if t.IsLoaded {
			time.Sleep(every)
		} else {
			time.Sleep(everyWithout)
		}
	}
}

// put keeps a table, and the counts of the last seconds.
func (r *Reader) put(t *Table, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t == nil || !t.IsLoaded || r.last == nil || r.last.Handle != t.Handle {
		r.samples = nil
	}
	if r.last = t; t == nil || !t.IsLoaded {
		return
	}
	for len(r.samples) > 1 && now.Sub(r.samples[1].at) >= window {
		r.samples = slices.Delete(r.samples, 0, 1)
	}
	r.samples = append(r.samples, sample{now, t.Targets})
}

// Close ends the other process.
func (r *Reader) Close() {
	if r != nil {
		_ = r.in.Close() // the process ends at the end of its input
	}
}

// Latest returns what was loaded last time, nil if that is unknown.
func (r *Reader) Latest() *State {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		return nil
	}
	s := &State{Table: *r.last}
	if len(r.samples) < 2 {
		return s
	}
	first, last := r.samples[0], r.samples[len(r.samples)-1]
	s.Seconds = last.at.Sub(first.at).Seconds()
	for _, x := range last.targets {
		i := slices.IndexFunc(first.targets, func(t Target) bool { return t.Kinds == x.Kinds && t.Target == x.Target })
		if i >= 0 && x.Looked >= first.targets[i].Looked && x.Dropped >= first.targets[i].Dropped {
			x.Looked -= first.targets[i].Looked
			x.Dropped -= first.targets[i].Dropped
			s.Lately = append(s.Lately, x)
		}
	}
	return s
}

// State is a Table with what it counted in the last seconds.
type State struct {
	Table
	Seconds float64  // 0: it was read once
	Lately  []Target // within Seconds
}

// Describe returns in a sentence what the rules do against a flood at a target, as now is; empty: none
// are loaded for it, or that is unknown.
func (s *State) Describe(target flood.Target, now time.Time) string {
	if s == nil || !s.IsLoaded {
		return ""
	}
	isHere := func(t Target) bool { return t.Target == target.String() }
	if !slices.ContainsFunc(s.Targets, isHere) {
		return "The rules that are loaded are not for this target."
	}
	text := "Your rules"
	if s.Since != 0 {
		text += ", loaded " + age(now.Sub(time.Unix(s.Since, 0))) + " ago,"
	}
	if s.Expires != 0 && now.Unix() > s.Expires {
		return "Your rules have expired and match nothing any more: load them again."
	}
	i := slices.IndexFunc(s.Lately, isHere)
	switch {
	case i < 0:
		return text + " are being counted."
	case s.Lately[i].Looked == 0:
		return text + " see nothing that they look at."
	}
	x := s.Lately[i]
	return fmt.Sprintf("%s drop %s: %s of the %s packets a second that they look at.", text, share(x.Dropped, x.Looked),
		perSecond(x.Dropped, s.Seconds), perSecond(x.Looked, s.Seconds))
}

// age returns how long ago something was, in one unit.
func age(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", max(d, 0).Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Truncate(time.Minute).Minutes())
	}
	return fmt.Sprintf("%.0f h", d.Truncate(time.Hour).Hours())
}

// share returns a share in percent. It is 100 % only where it is all.
func share(n, of uint64) string {
	p := 100 * float64(n) / float64(of)
	switch {
	case n < of && p > 99.9:
		p = 99.9
	case n < of && p < 99:
		return fmt.Sprintf("%.0f %%", p)
	case n == of:
		return "100 %"
	}
	return fmt.Sprintf("%.1f %%", p)
}

func perSecond(n uint64, seconds float64) string {
	return digits.Grouped(int64(float64(n)/seconds + 0.5))
}

const (
	// limit: every is how often the rules are read while some are loaded, everyWithout while none are. Chosen:
	// a run of nft takes 8 ms.
	every        = 2 * time.Second
	everyWithout = 5 * time.Second

	// window is over how long rates are. Chosen: that of the rates of qsniff top.
	window = 10 * time.Second
)
