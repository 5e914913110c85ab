package fleettest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"qsniff/internal/fleet/campaign"
	"qsniff/internal/flood"
)

// Told is something that was told of a fleet: a campaign, or an incident of a detector.
type Told struct {
	Kind    flood.Kind
	IsAlarm bool // a warning or an alert
	IsWide  bool // it is of a network, with hosts that may have nothing to do with it
	How     string
	Start   time.Duration // since the world began
	Found   time.Duration
	Hosts   []string
	Sources float64
}

// Score is how what was told compares with what happened.
type Score struct {
	Rows  []Row
	False []Told // alarms that are of no attack
}

// Row is what was told of one event.
type Row struct {
	*Label
	Told []Told // of the kind that it is
	Else []Told // alarms at the time and the hosts of an attack, of another kind
}

// slack is how long after its end an attack may still be told of: a window, its lateness, and what a
// verdict must hold for.
const slack = 45 * time.Second

// Compare holds what was told against what happened. Something belongs to an attack that it begins
// during, and half of whose hosts are those of the attack.
func Compare(labels []*Label, told []Told) *Score {
	s := &Score{}
	for _, l := range labels {
		s.Rows = append(s.Rows, Row{Label: l})
	}
	for _, x := range told {
		if !x.IsAlarm {
			continue
		}
		i := slices.IndexFunc(s.Rows, func(r Row) bool { return r.IsAttack() && r.isOf(&x) })
		switch {
		case i < 0:
			s.False = append(s.False, x)
		case slices.Contains(s.Rows[i].Kinds, x.Kind):
			s.Rows[i].Told = append(s.Rows[i].Told, x)
		default:
			s.Rows[i].Else = append(s.Rows[i].Else, x)
		}
	}
	return s
}

func (l *Label) isOf(x *Told) bool {
	if x.Found < l.From || x.Found > l.To+slack {
		return false
	}
	n := 0
	for _, name := range x.Hosts {
		if slices.ContainsFunc(l.Hosts, func(h *Host) bool { return h.Name == name }) {
			n++
		}
	}
	return 2*n >= len(x.Hosts) || x.IsWide && n > 0
}

// Recall returns how many of the attacks were told of as what they are.
func (s *Score) Recall() (found, all int) {
	for _, r := range s.Rows {
		if r.IsAttack() {
			all++
			if len(r.Told) > 0 {
				found++
			}
		}
	}
	return found, all
}

// Precision returns how many of the alarms are of attacks.
func (s *Score) Precision() (right, all int) {
	for _, r := range s.Rows {
		right += len(r.Told) + len(r.Else)
	}
	return right, right + len(s.False)
}

// String returns a table.
func (s *Score) String() string {
	var b strings.Builder
	for _, r := range s.Rows {
		if !r.IsAttack() {
			continue
		}
		fmt.Fprintf(&b, "%-45s %8v", r.Name, r.From)
		if len(r.Told)+len(r.Else) == 0 {
			b.WriteString("  nothing told")
		}
		for i, x := range slices.Concat(r.Told, r.Else) {
			if i == 3 {
				fmt.Fprintf(&b, "  and %d more", len(r.Told)+len(r.Else)-3)
				break
			}
			fmt.Fprintf(&b, "  %s %s after %v, %d hosts, %.0f sources", x.How, x.Kind, (x.Found - r.From).Round(time.Second), len(x.Hosts), x.Sources)
		}
		b.WriteByte('\n')
	}
	for _, x := range s.False {
		fmt.Fprintf(&b, "false: %s %s at %v, %d hosts\n", x.How, x.Kind, x.Found, len(x.Hosts))
	}
	found, attacks := s.Recall()
	right, alarms := s.Precision()
	fmt.Fprintf(&b, "recall %d of %d, precision %d of %d\n", found, attacks, right, alarms)
	return b.String()
}

// ToldOf returns what a campaign tells. start is when the world began.
func ToldOf(c *campaign.Campaign, start time.Time) Told {
	x := Told{Kind: c.Kind(), IsAlarm: c.Level != flood.Info.String(), How: string(c.How), Sources: c.Sources,
		Start: time.Duration(c.Start - start.UnixNano()), Found: time.Duration(c.Detected - start.UnixNano())}
	for _, m := range c.Members {
		if !slices.Contains(x.Hosts, m.Sensor) {
			x.Hosts = append(x.Hosts, m.Sensor)
		}
	}
	return x
}

// ToldBy returns what a detector on all packets tells.
func (w *World) ToldBy(in *flood.Incident) Told {
	x := Told{Kind: in.Kind, IsAlarm: in.Level >= flood.Warn, IsWide: in.Target.IsNetwork(), Sources: in.Sources,
		Start: time.Duration(in.Start - w.start.UnixNano()), Found: time.Duration(in.Detected - w.start.UnixNano())}
	for _, h := range w.Hosts {
		if h.Addr == in.Target.End.Addr() || in.Target.IsNetwork() && in.Target.Prefix.Contains(h.Addr) {
			x.Hosts = append(x.Hosts, h.Name)
		}
	}
	return x
}
