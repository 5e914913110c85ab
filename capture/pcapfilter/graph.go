package pcapfilter

import "fmt"

// A filter is a graph of blocks (control flow): each is a comparison of a value of the packet, with two
// successors, down to the two verdicts. Values and blocks are interned: equal ones are the same pointer.

// valueKind is how a value comes about.
type valueKind uint8

const (
	constant  valueKind = iota // n
	loadAbs                    // size bytes at n
	loadAt                     // size bytes at n + x
	headerLen                  // length of the IPv4 header at n: 4 * its lowest four bits
	extension                  // n is one of bpf.Extension
	operation                  // x op y
	negative                   // -x
)

// value is a number that a packet has.
type value struct {
	valueKey
	id int
}

type valueKey struct {
	kind valueKind
	n    uint32
	size int
	op   string
	x, y *value
}

// comparison is how a block compares.
type comparison uint8

const (
	equal       comparison = iota // =
	above                         // >
	atLeast                       // >=
	anyBit                        // & is not 0
	hasNoBranch                   // of verdicts
)

// testKey is a comparison of x with k, or with y if that is not nil.
type testKey struct {
	x   *value
	cmp comparison
	k   uint32
	y   *value
}

// test is a testKey that blocks of the graph have.
type test struct {
	testKey
	id int // index of its bit in facts
}

// block is a test and what follows it, or a verdict.
type block struct {
	*test     // nil: a verdict
	yes, no   *block
	id        int
	known     facts // what is known wherever the block is reached; of the last round of simplify
	isVisited bool
}

type blockKey struct {
	test    *test
	yes, no *block
}

// graph makes values, tests and blocks.
type graph struct {
	values       map[valueKey]*value
	tests        map[testKey]*test
	blocks       map[blockKey]*block
	byValue      map[*value][]*test
	maskedFrom   map[*value][]*value // values of which others have some bits
	accept, drop *block
}

func newGraph() *graph {
	return &graph{values: map[valueKey]*value{}, tests: map[testKey]*test{}, blocks: map[blockKey]*block{}, byValue: map[*value][]*test{}, maskedFrom: map[*value][]*value{},
		accept: &block{id: 0}, drop: &block{id: 1}}
}

func (g *graph) value(key valueKey) *value {
	v := g.values[key]
	if v == nil {
		v = &value{key, len(g.values)}
		g.values[key] = v
		if base, _, ok := v.maskedOf(); ok {
			g.maskedFrom[base] = append(g.maskedFrom[base], v)
		}
	}
	return v
}

func (g *graph) constant(n uint32) *value { return g.value(valueKey{kind: constant, n: n}) }

// load returns size bytes at an offset.
func (g *graph) load(at uint32, size int) *value {
	return g.value(valueKey{kind: loadAbs, n: at, size: size})
}

// masked returns the bits of x that are set in mask.
func (g *graph) masked(x *value, mask uint32) *value { return g.binary("&", x, g.constant(mask)) }

// binary returns x op y, of constants the result. The operands must be valid, see checkOperands.
func (g *graph) binary(op string, x, y *value) *value {
	if x.kind == constant && y.kind == constant {
		return g.constant(compute(op, x.n, y.n))
	}
	if x.kind == constant && (op == "+" || op == "*" || op == "&" || op == "|" || op == "^") {
		x, y = y, x
	}
	if y.kind == constant && y.n == 0 && (op == "+" || op == "-" || op == "|" || op == "^" || op == "<<" || op == ">>") {
		return x
	}
	return g.value(valueKey{kind: operation, op: op, x: x, y: y})
}

// compute returns x op y as BPF does.
func compute(op string, x, y uint32) uint32 {
	switch op {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "/":
		return x / y
	case "%":
		return x % y
	case "&":
		return x & y
	case "|":
		return x | y
	case "^":
		return x ^ y
	case "<<":
		return x << y
	}
	return x >> y
}

func (t *testKey) holds(x uint32) bool {
	switch t.cmp {
	case equal:
		return x == t.k
	case above:
		return x > t.k
	case atLeast:
		return x >= t.k
	}
	return x&t.k != 0
}

// compare returns the block that compares x with y.
func (g *graph) compare(x *value, cmp comparison, y *value, yes, no *block) *block {
	switch {
	case x.kind == constant && y.kind == constant:
		t := testKey{cmp: cmp, k: y.n}
		if t.holds(x.n) {
			return yes
		}
		return no
	case x.kind == constant && cmp == above: // k > y
		return g.test(testKey{x: y, cmp: atLeast, k: x.n}, no, yes)
	case x.kind == constant && cmp == atLeast:
		return g.test(testKey{x: y, cmp: above, k: x.n}, no, yes)
	case x.kind == constant:
		x, y = y, x
	}
	if y.kind != constant {
		return g.test(testKey{x: x, cmp: cmp, y: y}, yes, no)
	}
	t := testKey{x: x, cmp: cmp, k: y.n}
	if base, mask, ok := x.maskedOf(); ok && y.n == 0 && (cmp == equal || cmp == above) {
		t = testKey{x: base, cmp: anyBit, k: mask}
		if cmp == equal {
			yes, no = no, yes
		}
	}
	return g.test(t, yes, no)
}

// equals returns the block that compares x with a constant.
func (g *graph) equals(x *value, k uint32, yes, no *block) *block {
	return g.compare(x, equal, g.constant(k), yes, no)
}

// test returns the block with a test. One that decides nothing is left out.
func (g *graph) test(key testKey, yes, no *block) *block {
	t := g.tests[key]
	if t == nil {
		if len(g.tests) == maxTests {
			panic(&Error{Message: fmt.Sprintf("more than %d comparisons", maxTests), Hint: "networks in place of hosts, or -Y, take fewer"})
		}
		t = &test{key, len(g.tests)}
		g.tests[key] = t
		g.byValue[key.x] = append(g.byValue[key.x], t)
	}
	return g.block(t, yes, no)
}

func (g *graph) block(t *test, yes, no *block) *block {
	if yes == no {
		return yes
	}
	key := blockKey{t, yes, no}
	b := g.blocks[key]
	if b == nil {
		b = &block{test: t, yes: yes, no: no, id: 2 + len(g.blocks)}
		g.blocks[key] = b
	}
	return b
}

// facts are outcomes of tests: two bits for each, known to hold and known not to.
type facts []uint64

func (f facts) set(t *test, holds bool) {
	bit := 2 * t.id
	if !holds {
		bit++
	}
	f[bit/64] |= 1 << (bit % 64)
}

// outcome reports whether the outcome of t is known, and which it is.
func (f facts) outcome(t *test) (holds, known bool) {
	switch f[2*t.id/64] >> (2 * t.id % 64) & 3 {
	case 1:
		return true, true
	case 2:
		return false, true
	}
	return false, false
}

// decide reports whether the outcome of t follows from what is known of its value.
func (g *graph) decide(f facts, t *test) (holds, known bool) {
	if holds, known = f.outcome(t); known || t.y != nil {
		return holds, known
	}
	if holds, known = g.decideByMask(f, t); known {
		return holds, known
	}
	lo, hi := uint32(0), ^uint32(0)
	isLoaded := false // else a cut packet would pass that has no such bytes
	for _, other := range g.byValue[t.x] {
		holds, known := f.outcome(other)
		if !known || other.y != nil {
			continue
		}
		isLoaded = true
		switch {
		case other.cmp == equal && holds:
			lo, hi = other.k, other.k
		case other.cmp == above && holds && other.k < hi:
			lo = max(lo, other.k+1)
		case other.cmp == above && !holds:
			hi = min(hi, other.k)
		case other.cmp == atLeast && holds:
			lo = max(lo, other.k)
		case other.cmp == atLeast && !holds && other.k > lo:
			hi = min(hi, other.k-1)
		}
	}
	if !isLoaded {
		return false, false
	}
	if lo >= hi {
		return t.holds(lo), lo == hi
	}
	switch {
	case t.cmp == equal && (t.k < lo || t.k > hi), t.cmp == above && hi <= t.k, t.cmp == atLeast && hi < t.k:
		return false, true
	case t.cmp == above && lo > t.k, t.cmp == atLeast && lo >= t.k:
		return true, true
	}
	return false, false
}

// decideByMask is decide for a value and the same one with some of its bits: one of them is compared
// with a constant, and the other is known to be equal to one.
func (g *graph) decideByMask(f facts, t *test) (holds, known bool) {
	if base, mask, ok := t.x.maskedOf(); ok {
		for _, other := range g.byValue[base] {
			if holds, known := f.outcome(other); known && holds && other.cmp == equal && other.y == nil {
				return t.holds(other.k & mask), true
			}
		}
	}
	if t.cmp != equal {
		return false, false
	}
	for _, part := range g.maskedFrom[t.x] {
		_, mask, _ := part.maskedOf()
		for _, other := range g.byValue[part] {
			if holds, known := f.outcome(other); known && holds && other.cmp == equal && other.y == nil && t.k&mask != other.k {
				return false, true
			}
		}
	}
	return false, false
}

// maskedOf returns what v has some bits of, and which.
func (v *value) maskedOf() (base *value, mask uint32, ok bool) {
	if v.kind != operation || v.op != "&" || v.y.kind != constant {
		return nil, 0, false
	}
	return v.x, v.y.n, true
}

// inOrder returns the blocks that root leads to, each before those that follow it, without verdicts.
func inOrder(root *block) []*block {
	var all []*block
	var visit func(*block)
	visit = func(b *block) {
		if b.test == nil || b.isVisited {
			return
		}
		b.isVisited = true
		visit(b.no)
		visit(b.yes)
		all = append(all, b)
	}
	visit(root)
	for i, j := 0, len(all)-1; i < j; i, j = i+1, j-1 {
		all[i], all[j] = all[j], all[i]
	}
	for _, b := range all {
		b.isVisited = false
	}
	return all
}

// maxTests is how many different comparisons a filter has at most. Chosen: twice as many as the
// kernel takes; simplify keeps two bits for each at every block, 50 MiB at most.
const maxTests = 8192

// maxRounds bounds the rounds of simplify. Chosen: expressions of people take four, and what is
// left after the last round is right, only longer.
const maxRounds = 30

// simplify leaves out tests that are decided by those before, on each way through the graph. What
// is left out loads nothing that was not loaded before, so that a cut packet gets the same verdict.
func (g *graph) simplify(root *block) *block {
	for range maxRounds {
		next := g.simplifyOnce(root)
		if next == root {
			break
		}
		root = next
	}
	return root
}

func (g *graph) simplifyOnce(root *block) *block {
	if root.test == nil {
		return root
	}
	all := inOrder(root)
	size := (2*len(g.tests) + 63) / 64
	memory := make(facts, size*(len(all)+1))
	for i, b := range all {
		b.known = memory[size*i:][:size:size]
		b.isVisited = b == root // that is: a way to it has been seen
	}
	along := memory[size*len(all):]
	// A comparison that has one result on all edges into a block has it in the block.
	reach := func(to *block) {
		if to.test == nil {
			return
		}
		if !to.isVisited {
			to.isVisited = true
			copy(to.known, along)
			return
		}
		for i := range to.known {
			to.known[i] &= along[i]
		}
	}
	type ways struct{ yes, no *block }
	targets := make(map[*block]ways, len(all))
	follow := func(to *block) *block {
		for to.test != nil {
			holds, known := g.decide(along, to.test)
			switch {
			case !known:
				return to
			case holds:
				to = to.yes
			default:
				to = to.no
			}
		}
		return to
	}
	for _, b := range all {
		b.isVisited = false
		copy(along, b.known)
		along.set(b.test, true)
		reach(b.yes)
		yes := follow(b.yes)
		copy(along, b.known)
		along.set(b.test, false)
		reach(b.no)
		targets[b] = ways{yes, follow(b.no)}
	}
	made := map[*block]*block{}
	for i := len(all) - 1; i >= 0; i-- {
		w := targets[all[i]]
		made[all[i]] = g.block(all[i].test, pick(made, w.yes), pick(made, w.no))
	}
	return made[root]
}

func pick(made map[*block]*block, b *block) *block {
	if b.test == nil {
		return b
	}
	return made[b]
}
