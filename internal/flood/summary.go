package flood

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"qsniff/dissect"
	"qsniff/internal/base/digits"
	"qsniff/internal/flood/measure"
	"qsniff/internal/flood/sketch"
)

// summary adds up an incident at a server, so that it can be described as a whole when it is
// over.
type summary struct {
	totals      measure.Totals
	stretch     measure.Stretch
	features    measure.Features // of the verdict that described it last
	window      span             // of these
	firstSec    int32
	proofsTo    int32  // the proofs of seconds before this one are in totals
	paneSeconds int32  // seconds of the pane at hand that qualified
	packets     uint64 // of the family, in the panes of stretch
}

func newSummary(first int32) *summary { return &summary{firstSec: first, proofsTo: first} }

// addProofs adds the challenged sources of the seconds up to last, or to until if that is
// earlier, once each.
func (x *summary) addProofs(t *measure.Server, last, until int32) {
	for until = min(last, until); x.proofsTo <= until; x.proofsTo++ {
		x.totals.AddProofs(t.At(x.proofsTo))
	}
}

// addPane adds the pane that ends with the second, if any, to the summary of an open incident.
// Of the pane at least half must have qualified, or any second where the incident comes in
// pulses.
func (c *course) addPane(s *serverSecond) {
	if (s.Now+1)%measure.PaneSeconds != 0 {
		return
	}
	if c.in != nil && c.isInPane(s) {
		c.addPaneUpTo(s, s.Now)
	}
	c.summary.paneSeconds = 0
}

func (c *course) addPaneUpTo(s *serverSecond, last int32) {
	c.summary.packets += c.countPackets(s, s.server.PaneStart(), last)
	c.summary.stretch.AddPane(s.server, c.packetSort(), last, &s.busiest)
}

// countPackets returns how many packets of the family came in the seconds from first to last.
func (c *course) countPackets(s *serverSecond, first, last int32) (n uint64) {
	for sec := first; sec <= last; sec++ {
		if b := s.server.At(sec); b != nil {
			n += uint64(c.packetsIn(s, b))
		}
	}
	return n
}

// isInPane reports whether the current pane belongs to the incident.
func (c *course) isInPane(s *serverSecond) bool {
	x := c.summary
	return s.server.PaneStart() >= x.firstSec && x.paneSeconds > 0 && (c.in.Pulses > 1 || 2*x.paneSeconds >= s.Now+1-s.server.PaneStart())
}

// describe fills in weight, sources, networks and evidence as they are now.
func (c *course) describe(s *serverSecond, v verdict) {
	in, t := c.in, s.server
	if n := len(in.History); v.weight.Value > in.Weight.Value || n > 0 && v.kind == in.Kind {
		in.Weight = v.weight
	}
	t.MergeSources(&c.sources, c.packetSort())
	c.describeSoFar(s)
}

// describeNow returns the open incident as a viewer wants it: with the figures and the evidence of now. The incident
// itself does not change, nor does what its last description will be made of: whether it is looked at decides nothing.
func (c *course) describeNow(s *serverSecond) Incident {
	kept, x, toldLeak := c.in, *c.summary, c.toldLeak
	now := kept.clone()
	c.in = &now
	if c.isActive {
		c.describeSoFar(s)
	} else { // it is over unless another pulse comes
		c.updateTotals(c.lastEnd)
		c.describeWhole(s, c.lastEnd)
		c.describeServers(s, c.lastEnd)
		c.updateAnswers(s)
	}
	if c.trial != nil {
		c.trial.Measure(&now, s.features[measure.OneWay] > 0)
	}
	c.in, c.toldLeak, c.summary.features, c.summary.window = kept, toldLeak, x.features, x.window
	return now
}

// Describe returns an incident as it is now: if it goes on, with figures and evidence up to the packet at hand. It
// allocates, and is for those who show incidents, each time that they do.
func (d *Detector) Describe(in *Incident) Incident {
	for _, x := range [...]*side{&d.side, &d.own.side} {
		for _, w := range x.servers.heavy {
			if c := w.courseOf(in); c != nil {
				return w.describeNow(&d.book, c)
			}
		}
		for _, n := range x.networks.heavy {
			if c := n.courseOf(in); c != nil {
				return n.describeNow(&d.book, c)
			}
		}
	}
	return in.clone()
}

// courseOf returns the course of an open incident; nil: it is not of this server.
func (w *watched) courseOf(in *Incident) *course {
	for i := range w.courses {
		if w.courses[i].in == in {
			return &w.courses[i]
		}
	}
	return nil
}

// describeNow measures the server as if the second at hand were over, and returns the incident of a course.
func (w *watched) describeNow(b *book, c *course) Incident {
	f := w.features
	w.Measure(&f, b.Now, w.limits(b))
	w.countSourcesOnce(&f)
	return c.describeNow(&serverSecond{b, &w.Server, &f, w})
}

// describeSoFar fills in sources, networks and evidence.
func (c *course) describeSoFar(s *serverSecond) {
	in, t := c.in, s.server
	c.updateTotals(s.secondEnd())
	s.busiest = t.Busiest(s.busiest, c.packetSort())
	in.Top = appendTop(in.Top[:0], s.busiest, c.hasProofs(t))
	in.Prefixes = in.Prefixes[:0]
	if c.packetSort() == measure.Queries {
		s.prefixes = appendPrefixes(s.prefixes[:0], t)
		in.Prefixes = append(in.Prefixes, s.prefixes[:min(len(s.prefixes), listedPrefixes)]...)
		in.Missing = listMissing(in.Missing[:0], s.features, in.Proto)
		if t.LastCut > 0 {
			in.Missing = append(in.Missing, "challenge values (snap length)")
		}
		in.Features = listFeatures(in.Features[:0], s.features)
	}
	c.describeWindow(s)
	c.describeServers(s, s.secondEnd())
	c.toldLeak = false
	c.updateLeak()
	c.updateAnswers(s)
}

// hasProofs reports whether the capture shows which sources of the course proved their
// address: the server gives challenges, and none was cut.
func (c *course) hasProofs(t *measure.Server) bool { return t.LastChallenge > 0 && t.LastCut == 0 }

// updateTotals fills in the mean rate and the number of sources of the incident so far, which
// ends at end.
func (c *course) updateTotals(end int64) {
	c.in.setMean(end)
	c.in.setSources(c.sources.Count())
	c.in.SourcesError = min(1, sketch.DistinctError+measure.Share(float64(c.before+c.after), c.in.Sources)) // each of another source
	c.in.Shape, c.in.OtherForms = c.shape.AppendForms(c.in.Shape[:0]), c.shape.Others
}

// describeWindow writes the evidence of an incident that goes on, whose Top is of the window
// of the sketches.
func (c *course) describeWindow(s *serverSecond) {
	in, x := c.in, c.summary
	x.features = *s.features
	if f := &x.features; c.packetSort() != measure.Queries {
		*f = measure.Features{measure.Window: float64(s.server.WindowSeconds(s.Now))}
		if s.server.IsOneWay(s.Now) {
			f[measure.OneWay] = 1
		}
	}
	end := s.secondEnd()
	x.window = span{end - int64(x.features[measure.Window])*int64(time.Second), end}
	in.TopFrom, in.TopTo, in.TopOf = x.window.from, x.window.to, c.countPackets(s, s.Now-int32(x.features[measure.Window])+1, s.Now)
	a := account{in: in, server: s.server, totals: &x.totals, features: &x.features, lim: &s.lim,
		whole: span{in.Start, end}, window: x.window, sample: x.window, sampled: &x.features}
	a.writeEvidence(c.family)
}

// describeWhole writes the evidence of the incident as a whole, which ends at end. What the
// sketches show is of the panes that lie in it, if there is at least one.
func (c *course) describeWhole(s *serverSecond, end int64) {
	in, x := c.in, c.summary
	if x.stretch.Seconds == 0 && c.isActive && c.isInPane(s) { // the capture ends in its first pane
		c.addPaneUpTo(s, s.Now-1)
	}
	a := account{in: in, server: s.server, totals: &x.totals, features: &x.features, lim: &s.lim,
		whole: span{in.Start, end}, window: x.window, sample: x.window, sampled: &x.features}
	if y := &x.stretch; y.Seconds > 0 {
		sampled := x.features
		y.Fill(&sampled, &s.server.End.Host)
		a.sampled = &sampled
		a.sample = span{s.secondEnd() - int64(s.Now-y.From+1)*int64(time.Second), s.secondEnd() - int64(s.Now-y.To+1)*int64(time.Second)}
		in.Top = appendStretch(in.Top[:0], y.Hosts, c.hasProofs(s.server))
		in.TopFrom, in.TopTo, in.TopOf = a.sample.from, a.sample.to, x.packets
	}
	a.writeEvidence(c.family)
}

// setMean sets Mean, of an incident that goes on or ends at end, to its packets for each second
// of its length. Peak, the most in a second of the detector's clock, becomes no less than that:
// the first of these seconds began before the incident did. With a clock that was not set,
// mean is at most twice the peak.
func (in *Incident) setMean(end int64) {
	n := in.Requests
	switch {
	case in.Class != nil:
		n = in.Packets
	case n == 0:
		n = in.Replies
	}
	in.Mean = min(float64(n)/max(float64(end-in.Start)/1e9, 1), 2*in.Peak)
	in.Peak = max(in.Peak, in.Mean)
}

// QueryKind is one type of the packets of an incident.
type QueryKind struct {
	Type           *dissect.Type // nil: of no known type, or several
	IsOther        bool          // of no known protocol: they do not even begin like a query
	IsRest         bool          // all types that a Shape had no room for
	Packets        uint64
	Share          float64 // of all packets whose form was counted
	MinLen, MaxLen int     // bytes of payload
	CommonLen      int     // the length of at least commonShare of its packets; 0: there is none
	WithChallenge  float64 // share of its packets that bring a challenge
}

// Name returns the name of the type; "unknown" for packets that begin like a query and are
// none, "no query" for those that do not, "other" for several types.
func (k *QueryKind) Name() string {
	if k.IsRest {
		return "other"
	}
	if k.IsOther {
		return "no query"
	}
	if k.Type == nil {
		return "unknown"
	}
	return k.Type.Name
}

// Kinds returns the types of the incident's packets, most first.
func (in *Incident) Kinds() []QueryKind {
	var all []QueryKind
	total := in.OtherForms
	for i := range in.Shape {
		f := &in.Shape[i]
		total += f.Packets
		k := slices.IndexFunc(all, func(x QueryKind) bool { return x.Type == f.Type && x.IsOther == f.IsOther })
		if k < 0 {
			k = len(all)
			all = append(all, QueryKind{Type: f.Type, IsOther: f.IsOther, MinLen: int(f.Min), MaxLen: int(f.Max)})
		}
		if f.Min == f.Max && float64(f.Packets) >= commonShare*float64(in.packetsOf(f)) {
			all[k].CommonLen = int(f.Min)
		}
		x := &all[k]
		x.Packets += f.Packets
		x.MinLen, x.MaxLen = min(x.MinLen, int(f.Min)), max(x.MaxLen, int(f.Max))
		if f.HasKey {
			x.WithChallenge += float64(f.Packets)
		}
	}
	for i := range all {
		x := &all[i]
		x.Share, x.WithChallenge = measure.Share(float64(x.Packets), float64(total)), measure.Share(x.WithChallenge, float64(x.Packets))
	}
	if in.OtherForms > 0 {
		all = append(all, QueryKind{IsRest: true, Packets: in.OtherForms, Share: measure.Share(float64(in.OtherForms), float64(total))})
	}
	slices.SortStableFunc(all, func(a, b QueryKind) int { return cmp.Compare(b.Packets, a.Packets) })
	return all
}

// commonShare is the share of a type's packets from which on they count as having one
// length. Chosen: the others are those that clients send meanwhile.
const commonShare = 0.9

// packetsOf returns how many packets of the type of a form the shape has.
func (in *Incident) packetsOf(f *measure.Form) (n uint64) {
	for i := range in.Shape {
		if x := &in.Shape[i]; x.Type == f.Type && x.IsOther == f.IsOther {
			n += x.Packets
		}
	}
	return n
}

// namedKind is the least share of a type that DescribeKinds names. Chosen: one in a hundred,
// below which it is what clients send meanwhile.
const namedKind = 0.01

// DescribeKinds returns the types of the incident's packets as a sentence; empty if no form
// was counted.
func (in *Incident) DescribeKinds() string {
	var words []string
	for _, k := range in.Kinds() {
		if k.Share < namedKind && len(words) > 0 {
			break
		}
		if k.IsRest {
			words = append(words, "others "+percent(k.Share))
			continue
		}
		s := fmt.Sprintf("%s %s (%s", k.Name(), percent(k.Share), k.describeLength())
		if k.WithChallenge > 0 {
			s += ", " + percent(k.WithChallenge) + " with a challenge"
		}
		words = append(words, s+")")
	}
	if len(words) == 0 {
		return ""
	}
	return "what came: " + strings.Join(words, ", ")
}

func (k *QueryKind) describeLength() string {
	if k.CommonLen > 0 {
		return digits.Counted(uint64(k.CommonLen), "byte")
	}
	return fmt.Sprintf("%d to %d bytes", k.MinLen, k.MaxLen)
}
