package recount

import "net/netip"

// otherRules has a rule for every value of the line with what else came than queries.
var otherRules = map[string]rule{
	"schema": {why: isForm}, "record": {why: isForm}, "class": {why: isVerdict}, "target": {why: isVerdict},
	"query_floods":     {check: func(x *incident, v value) { x.same(v, x.floods(false)) }},
	"other_floods":     {check: func(x *incident, v value) { x.same(v, x.floods(true)) }},
	"packets":          {check: func(x *incident, v value) { x.same(v, len(x.c.others())) }},
	"bytes":            {check: func(x *incident, v value) { x.same(v, sum(x.c.others(), onWire)) }},
	"peak_qps":         {check: func(x *incident, v value) { x.same(v, most(x.c.bySecond(x.c.apart(false), one))) }},
	"peak_bytes":       {check: func(x *incident, v value) { x.same(v, most(x.c.bySecond(x.c.apart(false), onWire))) }},
	"session_peak_qps": {check: func(x *incident, v value) { x.same(v, most(x.c.bySecond(x.c.apart(true), one))) }},
}

// floods counts the incidents before the line whose kind is other_flood, or is not.
func (x *incident) floods(other bool) (n int) {
	for _, k := range x.before {
		if (k == "other_flood") == other {
			n++
		}
	}
	return n
}

// others returns what came to hosts with servers and is no query, and nothing that begins like
// one.
func (c *capture) others() []*row {
	servers := map[netip.Addr]bool{}
	for i := range c.rows {
		if c.rows[i].what.isRequest() {
			servers[c.rows[i].dst.Addr()] = true
		}
	}
	return c.pick(span{c.first, c.last + 1}, func(r *row) bool { return servers[r.dst.Addr()] && (r.isTCP || r.what == other) })
}

// apart returns those of sessions, or the others: what follows the begin of a connection here.
func (c *capture) apart(sessions bool) []*row {
	var list []*row
	for _, r := range c.others() {
		if sessions == (r.isTCP && r.flags&0x12 != 2) {
			list = append(list, r)
		}
	}
	return list
}
