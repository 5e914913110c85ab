// Package compare finds what one of two servers answers otherwise than the other: whether it answers at all, after a
// challenge or at once, in which messages, parts, order, sizes and times, with which fields, names of rules and
// findings. Two clients of a server are compared likewise, and one server before and after a time. Differences are
// ranked by what a client that reads strictly fails at, so that the first one is the likely reason why a client works
// with one and not with the other. It knows no protocol: what it compares are the names that messages and fields have
// in JSON.
//
// A message of the two comes to Collector.Append, which writes what is compared of it; the dialogues of the run
// (package dialogue) bring it back with its exchange, to AppendDialogue, where it is counted in the table of its
// side. After the run Result compares the two tables.
package compare

import (
	"cmp"
	"net/netip"
	"slices"

	"qsniff/internal/render"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/render/tally"
)

// Collector collects what two sides said. It is a render.DialogueRenderer that renders nothing.
type Collector struct {
	sides  *Sides
	json   *jsonl.Renderer
	tables [2]table
	others []netip.AddrPort
	asked  bool // a side, which is to be a server, is a client
}

// New returns an empty collector.
func New(s *Sides, showSecrets bool) *Collector {
	return &Collector{sides: s, json: jsonl.New(jsonl.Options{ShowSecrets: showSecrets}), tables: [2]table{newTable(), newTable()}}
}

// AreClients reports whether what is to be a server asks servers.
func (c *Collector) AreClients() bool { return c.asked }

// Missing returns the name of a side of which nothing was captured, and servers of which something was; name is
// empty if both sides are there.
func (c *Collector) Missing() (name string, others []netip.AddrPort) {
	for i := range c.tables {
		if c.tables[i].exchanges == 0 {
			return c.sides.Names[i], c.others
		}
	}
	return "", nil
}

// countOther notes the server of an exchange that is not compared.
func (c *Collector) countOther(d *render.Dialogue) {
	server := d.Server
	for _, set := range c.sides.server {
		c.asked = c.asked || set != nil && set.Has(d.Client)
	}
	if server.IsValid() && len(c.others) < maxOthers && !slices.Contains(c.others, server) {
		c.others = append(c.others, server)
	}
}

// Result compares what was collected.
func (c *Collector) Result(run tally.Run) *render.Comparison {
	x := &render.Comparison{Run: run}
	for i := range c.tables {
		t := &c.tables[i]
		x.Sides[i] = render.ComparedSide{Label: c.sides.labels[i], Name: c.sides.Names[i], Exchanges: t.exchanges, Messages: t.messages, First: t.first, Last: t.last}
		x.Unkept += t.unkept
	}
	f := &finder{tables: [2]*table{&c.tables[0], &c.tables[1]}, labels: c.sides.labels, verbs: c.sides.verbs}
	f.compareTypes() // first: what is wrong with an answer says more than that it is missing
	f.compareQuestions()
	f.compareFindings()
	slices.SortStableFunc(f.all, func(a, b render.Difference) int {
		return cmp.Or(cmp.Compare(rankOf(&a), rankOf(&b)), cmp.Compare(a.Aspect, b.Aspect))
	})
	x.Differences, x.Uncompared = f.all, f.uncompared
	for a := render.AnswerAspect; a < render.ValueAspect; a++ {
		if f.compared[a] && !f.unequal[a] && !slices.ContainsFunc(f.all, func(d render.Difference) bool { return d.Aspect == a }) {
			x.Equal = append(x.Equal, a)
		}
	}
	return x
}

// rankOf returns the group of a difference. People name first the side that works: a client that works with it meets
// nothing new where only that side is the harder one.
func rankOf(d *render.Difference) int {
	switch {
	case d.Aspect > render.TimeAspect:
		return 2
	case d.IsOfFirst && d.Aspect > render.AnswerAspect:
		return 1
	}
	return 0
}

// limit: maxOthers is how many other servers are named where one was not found.
const maxOthers = 4
