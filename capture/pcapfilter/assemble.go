package pcapfilter

import (
	"errors"
	"fmt"

	"golang.org/x/net/bpf"
)

var errTooComplicated = errors.New("too many numbers at once: write shorter sums")

// assembler writes the instructions of blocks. a and x are the values in the accumulator and in the
// index register, nil: unknown.
type assembler struct {
	a, x    *value
	code    []bpf.Instruction
	scratch int // cells in use
	err     error
}

// registers are a and x where a block begins.
type registers struct {
	a, x   *value
	isSeen bool
}

// meet makes r what both ways to a block have in the registers.
func (r *registers) meet(a, x *value) {
	if !r.isSeen {
		*r = registers{a, x, true}
		return
	}
	if r.a != a {
		r.a = nil
	}
	if r.x != x {
		r.x = nil
	}
}

// assemble returns the program of a graph. It keeps snap bytes of packets that pass.
func assemble(root *block, snap uint32) ([]bpf.Instruction, error) {
	keep, drop := bpf.RetConstant{Val: snap}, bpf.RetConstant{Val: 0}
	if root.test == nil {
		if root.id == 0 {
			return []bpf.Instruction{keep}, nil
		}
		return []bpf.Instruction{drop}, nil
	}
	all := inOrder(root)
	at := make(map[*block]*registers, len(all))
	for _, b := range all {
		at[b] = &registers{}
	}
	at[root].isSeen = true
	bodies := make([][]bpf.Instruction, len(all))
	for i, b := range all {
		r := at[b]
		w := assembler{a: r.a, x: r.x}
		w.compared(b.test)
		if w.err != nil {
			return nil, w.err
		}
		bodies[i] = w.code
		for _, next := range []*block{b.yes, b.no} {
			if next.test != nil {
				at[next].meet(w.a, w.x)
			}
		}
	}
	return link(all, bodies, keep, drop), nil
}

// link joins the bodies of blocks by jumps. It writes from the end, where all jumps go to.
func link(all []*block, bodies [][]bpf.Instruction, keep, drop bpf.Instruction) []bpf.Instruction {
	code := []bpf.Instruction{drop, keep} // in reverse
	begins := map[*block]int{}            // length of code from the begin of a block to the end
	for i := len(all) - 1; i >= 0; i-- {
		b := all[i]
		distance := func(to *block) int {
			switch {
			case to.test != nil:
				return len(code) - begins[to]
			case to.id == 0:
				return len(code) - 2
			}
			return len(code) - 1
		}
		// reach returns how many instructions a conditional jump to a block skips. Those that skip
		// more than 255 go to a return of their own, or to a jump that reaches any distance.
		reach := func(to *block) int {
			n := distance(to)
			if n < 254 {
				return n
			}
			switch {
			case to.test != nil:
				code = append(code, bpf.Jump{Skip: uint32(n)})
			case to.id == 0:
				code = append(code, keep)
			default:
				code = append(code, drop)
			}
			return 0
		}
		no := reach(b.no)
		before := len(code)
		yes := reach(b.yes)
		no += len(code) - before
		code = append(code, b.jump(uint8(yes), uint8(no)))
		for j := len(bodies[i]) - 1; j >= 0; j-- {
			code = append(code, bodies[i][j])
		}
		begins[b] = len(code)
	}
	for i, j := 0, len(code)-1; i < j; i, j = i+1, j-1 {
		code[i], code[j] = code[j], code[i]
	}
	return code
}

// jump returns the conditional jump of a test.
func (t *test) jump(yes, no uint8) bpf.Instruction {
	cond := map[comparison]bpf.JumpTest{equal: bpf.JumpEqual, above: bpf.JumpGreaterThan, atLeast: bpf.JumpGreaterOrEqual, anyBit: bpf.JumpBitsSet}[t.cmp]
	if t.y != nil {
		return bpf.JumpIfX{Cond: cond, SkipTrue: yes, SkipFalse: no}
	}
	return bpf.JumpIf{Cond: cond, Val: t.k, SkipTrue: yes, SkipFalse: no}
}

func (w *assembler) add(code ...bpf.Instruction) { w.code = append(w.code, code...) }

// compared loads what a test compares.
func (w *assembler) compared(t *test) {
	if t.y == nil {
		w.load(t.x)
		return
	}
	w.loadBoth(t.x, t.y)
}

// load puts a value into the accumulator.
func (w *assembler) load(v *value) {
	if w.a == v {
		return
	}
	switch v.kind {
	case constant:
		w.add(bpf.LoadConstant{Dst: bpf.RegA, Val: v.n})
	case loadAbs:
		w.add(bpf.LoadAbsolute{Off: v.n, Size: v.size})
	case extension:
		w.add(bpf.LoadExtension{Num: bpf.Extension(v.n)})
	case loadAt:
		w.loadIndex(v.x)
		w.add(bpf.LoadIndirect{Off: v.n, Size: v.size})
	case headerLen:
		w.loadIndex(v)
		w.add(bpf.TXA{})
	case negative:
		w.load(v.x)
		// As A = -A is: the machine of golang.org/x/net/bpf, which tests compare with, does not know that one.
		w.add(bpf.ALUOpConstant{Op: bpf.ALUOpMul, Val: 0xffffffff})
	case operation:
		op := map[string]bpf.ALUOp{"+": bpf.ALUOpAdd, "-": bpf.ALUOpSub, "*": bpf.ALUOpMul, "/": bpf.ALUOpDiv, "%": bpf.ALUOpMod,
			"&": bpf.ALUOpAnd, "|": bpf.ALUOpOr, "^": bpf.ALUOpXor, "<<": bpf.ALUOpShiftLeft, ">>": bpf.ALUOpShiftRight}[v.op]
		if v.y.kind == constant {
			w.load(v.x)
			w.add(bpf.ALUOpConstant{Op: op, Val: v.y.n})
		} else {
			w.loadBoth(v.x, v.y)
			w.add(bpf.ALUOpX{Op: op})
		}
	}
	w.a = v
}

// loadIndex puts a value into the index register.
func (w *assembler) loadIndex(v *value) {
	switch {
	case w.x == v:
		return
	case v.kind == headerLen:
		w.add(bpf.LoadMemShift{Off: v.n})
	case v.kind == constant:
		w.add(bpf.LoadConstant{Dst: bpf.RegX, Val: v.n})
	default:
		w.load(v)
		w.add(bpf.TAX{})
	}
	w.x = v
}

// loadBoth puts x into the accumulator and y into the index register.
func (w *assembler) loadBoth(x, y *value) {
	switch {
	case y.kind == headerLen, y.kind == constant:
		w.load(x)
		w.loadIndex(y)
	case x.kind == constant, x.kind == loadAbs, x.kind == extension:
		w.loadIndex(y)
		w.load(x)
	default:
		const cells = 16
		if w.scratch == cells {
			w.err = errTooComplicated
			return
		}
		cell := w.scratch
		w.load(y)
		w.add(bpf.StoreScratch{Src: bpf.RegA, N: cell})
		w.scratch++
		w.load(x)
		w.scratch--
		w.add(bpf.LoadScratch{Dst: bpf.RegX, N: cell})
		w.x = y
	}
}

// Len returns how many instructions the program has. The kernel takes 4,096.
func (p *Program) Len() int { return len(p.code) }

// Instructions returns the program as golang.org/x/net/bpf writes it.
func (p *Program) Instructions() []bpf.RawInstruction { return p.raw }

func newProgram(code []bpf.Instruction) (*Program, error) {
	raw, err := bpf.Assemble(code)
	if err != nil {
		return nil, fmt.Errorf("capture filter: %w", err)
	}
	return NewProgram(raw)
}
