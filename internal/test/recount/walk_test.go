package recount

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"time"
)

// rule is how a value of the report is held against tshark's counts, or why it cannot be.
type rule struct {
	why   string
	check func(x *incident, v value)
}

// value is a value of the report and the object that it is in.
type value struct {
	path   string
	any    any
	parent map[string]any
}

func (v value) number() float64 { n, _ := v.any.(float64); return n }
func (v value) int() int        { return int(v.number()) }
func (v value) text() string    { s, _ := v.any.(string); return s }
func (v value) time() int64     { return parseTime(v.text()) }

// sibling returns a value that stands beside v.
func (v value) sibling(name string) value { return value{v.path, v.parent[name], v.parent} }

func parseTime(s string) int64 {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return 0
	}
	return t.UnixNano()
}

// walk calls visit for each value of a line that is not an object or a list.
func walk(path string, v any, parent map[string]any, visit func(value)) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			p := name
			if path != "" {
				p = path + "." + name
			}
			walk(p, v[name], v, visit)
		}
	case []any:
		for _, e := range v {
			walk(path+"[]", e, parent, visit)
		}
	default:
		visit(value{path, v, parent})
	}
}

// checkLine holds every value of a line against its rule, and reports one that has none. It
// adds the paths that it met to met.
func (x *incident) checkLine(line []byte, rules map[string]rule, met map[string]bool) {
	x.t.Helper()
	var all any
	if err := json.Unmarshal(line, &all); err != nil {
		x.t.Fatal(err)
	}
	walk("", all, nil, func(v value) {
		met[v.path] = true
		switch r, ok := rules[v.path]; {
		case !ok:
			x.t.Errorf("%s = %v: nothing checks it; count it with tshark, or say why that cannot be", v.path, v.any)
		case r.check != nil:
			r.check(x, v)
		}
	})
}

// same reports a value that is not the one that tshark has.
func (x *incident) same(v value, want any) {
	x.t.Helper()
	got := fmt.Sprint(v.any)
	if n, ok := v.any.(float64); ok {
		got = strconv.FormatFloat(n, 'f', -1, 64)
	}
	if got != fmt.Sprint(want) {
		x.t.Errorf("%s: %s is %s, by tshark %v", x.Kind, v.path, got, want)
	}
}

// between reports a value outside of bounds.
func (x *incident) between(v value, low, high float64) {
	x.t.Helper()
	if n := v.number(); n < low || n > high {
		x.t.Errorf("%s: %s is %v, by tshark %v to %v", x.Kind, v.path, v.any, low, high)
	}
}

// near reports a value that differs from tshark's by more than a share of that.
func (x *incident) near(v value, want, share float64) {
	x.t.Helper()
	x.between(v, want-math.Abs(share*want)-1e-9, want+math.Abs(share*want)+1e-9)
}

// window returns the stretch of time that the counts of the busiest sources are of.
func (x *incident) window() span {
	w := x.TopWindow
	if w == nil || w.From.IsZero() {
		return x.whole
	}
	s := span{w.From.UnixNano(), w.To.UnixNano()}
	if x.End == nil && s.to == x.c.last {
		s.to++
	}
	return s
}

// of returns the incident's packets from one address in the window of the busiest sources.
func (x *incident) of(a string) []*row {
	addr := netip.MustParseAddr(a)
	var list []*row
	for _, r := range x.within(x.window()) {
		if r.src.Addr() == addr || x.Kind == "rcon_bruteforce" && r.dst.Addr() == addr {
			list = append(list, r)
		}
	}
	return list
}
