package loaded

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
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
	befores []before // what clients got at targets until rules were loaded for them
}

// before is what clients got during an incident until the rules were loaded that are loaded now.
type before struct {
	handle   uint64 // of these
	incident uint64
	answers  flood.Answers
	isKnown  bool // the rules were loaded during the incident, and before that enough was asked
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

// LatestFor returns what Latest does, and what that changed for the clients of incidents, which are as they are now.
func (r *Reader) LatestFor(incidents []flood.Incident) *State {
	s := r.Latest()
	if s != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.compare(s, incidents)
	}
	return s
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

// compare fills in the effects of the rules on the clients of incidents that go on.
func (r *Reader) compare(s *State, incidents []flood.Incident) {
	r.befores = slices.DeleteFunc(r.befores, func(b before) bool {
		return b.handle != 0 && b.handle != s.Handle || !slices.ContainsFunc(incidents, func(in flood.Incident) bool { return in.ID == b.incident && in.End == 0 })
	})
	for i := range incidents {
		in := &incidents[i]
		if in.End != 0 || in.Answers == (flood.Answers{}) {
			continue
		}
		at := slices.IndexFunc(r.befores, func(b before) bool { return b.incident == in.ID })
		if at < 0 {
			if len(r.befores) == maxTargets {
				continue
			}
			r.befores, at = append(r.befores, before{incident: in.ID, handle: s.Handle, answers: in.Answers}), len(r.befores)
		}
		b := &r.befores[at]
		switch {
		case !s.IsLoaded: // they may be at once
			b.answers, b.handle, b.isKnown = in.Answers, 0, true
		case b.handle == 0:
			b.handle = s.Handle
		}
		if s.IsLoaded {
			s.effects = append(s.effects, effect{in.Target.String(), b.answers, in.Answers.Minus(b.answers), b.isKnown})
		}
	}
}

// State is a Table with what it counted in the last seconds.
type State struct {
	Table
	Seconds float64  // 0: it was read once
	Lately  []Target // within Seconds
	effects []effect
}

// effect is what clients got of what they asked for at a target.
type effect struct {
	target        string
	before, since flood.Answers // the rules were loaded
	hasBefore     bool
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
	return fmt.Sprintf("%s drop %s: %s of the %s packets a second that they look at.%s", text, share(x.Dropped, x.Looked),
		perSecond(x.Dropped, s.Seconds), perSecond(x.Looked, s.Seconds), s.describeEffect(target))
}

// Sentences returns what the rules do against those of the incidents that go on, or that they are still loaded where
// none of these is an attack or a warning, as now is.
func (s *State) Sentences(incidents []flood.Incident, now time.Time) (list []string) {
	goesOn := false
	for i := range incidents {
		in := &incidents[i]
		if in.End != 0 || in.Level < flood.Warn {
			continue
		}
		goesOn = true
		if text := s.Describe(in.Target, now); text != "" {
			list = append(list, in.Target.String()+": "+strings.TrimSuffix(text, "."))
		}
	}
	if idle := s.DescribeIdle(now); idle != "" && !goesOn {
		list = append(list, idle)
	}
	return list
}

// DescribeIdle returns in sentences that rules are loaded while no attack goes on, as now is, and how to remove them;
// empty: none are, or that is unknown.
func (s *State) DescribeIdle(now time.Time) string {
	if s == nil || !s.IsLoaded {
		return ""
	}
	text := "Your rules are still loaded"
	switch {
	case s.Expires != 0 && now.Unix() > s.Expires:
		text += ", but have expired and match nothing any more"
	case s.Expires != 0:
		text += ", and expire in " + age(time.Unix(s.Expires, 0).Sub(now))
	}
	return text + ". Undo: " + s.Undo
}

// describeEffect returns how clients fare since the rules were loaded, as sentences after a blank; empty: unknown.
func (s *State) describeEffect(target flood.Target) string {
	i := slices.IndexFunc(s.effects, func(e effect) bool { return e.target == target.String() })
	if i < 0 {
		return ""
	}
	e := &s.effects[i]
	served, was := e.since.Served(), e.before.Served()
	if !e.hasBefore {
		was = -1
	}
	text := ""
	switch {
	case served < 0:
		return " Whether clients are served is unknown: too few that proved their address asked since."
	case was < 0:
		text = fmt.Sprintf(" Proven clients got a reply to %.0f %% of their queries since.", 100*served)
	case served < wellServed && served < was+leastRise:
		text = fmt.Sprintf(" They do not help: proven clients got a reply to %.0f %% of their queries since, and to %.0f %% before.", 100*served, 100*was)
	default:
		text = fmt.Sprintf(" Proven clients got a reply to %.0f %% of their queries since, and to %.0f %% before.", 100*served, 100*was)
	}
	if n := e.since.Clients; n > 0 {
		text += fmt.Sprintf(" Now %d of %s served.", e.since.ClientsServed, digits.Counted(uint64(n), "proven client is", "proven clients are"))
	}
	return text
}

const (
	// wellServed is the share of queries with a reply from which on rules have nothing left to do. Chosen: some of
	// the queries of a usual day are lost.
	wellServed = 0.9
	// leastRise is by how much that share has to rise, at least, where rules help. Chosen: less is chance.
	leastRise = 0.05
)

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
