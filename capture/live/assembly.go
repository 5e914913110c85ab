package live

import (
	"fmt"

	"golang.org/x/net/bpf"
)

// assembly collects the instructions of a filter: every method but assemble adds to them.
// Jumps go forward, to the next label of that name, however far. A is the accumulator
// and X the index register of BPF.
type assembly struct {
	code    []bpf.Instruction
	snap    uint32
	pending []pendingJump
}

// pendingJump is a jump whose label has not been added yet.
type pendingJump struct {
	at    int
	label string
}

func (p *assembly) add(code ...bpf.Instruction) { p.code = append(p.code, code...) }

// pass keeps the packet, cut to the snap length.
func (p *assembly) pass() { p.add(bpf.RetConstant{Val: p.snap}) }

// drop does not keep the packet.
func (p *assembly) drop() { p.add(bpf.RetConstant{Val: 0}) }

// passIf keeps the packet if A is one of the values.
func (p *assembly) passIf(values ...uint32) {
	for _, v := range values {
		p.add(bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipFalse: 1})
		p.pass()
	}
}

// jump goes to a label if A is one of the values. A conditional jump reaches 255
// instructions only, so each skips an unconditional one, which reaches any.
func (p *assembly) jump(label string, values ...uint32) {
	for _, v := range values {
		p.add(bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipFalse: 1})
		p.jumpAlways(label)
	}
}

func (p *assembly) jumpAlways(label string) {
	p.pending = append(p.pending, pendingJump{len(p.code), label})
	p.add(bpf.Jump{})
}

// label marks the place to which the jumps added so far to that name go.
func (p *assembly) label(name string) {
	rest := p.pending[:0]
	for _, j := range p.pending {
		if j.label == name {
			p.code[j.at] = bpf.Jump{Skip: uint32(len(p.code) - j.at - 1)}
		} else {
			rest = append(rest, j)
		}
	}
	p.pending = rest
}

// assemble returns the program. A jump without a label, which is a mistake in this
// package, is an error.
func (p *assembly) assemble() ([]bpf.Instruction, error) {
	if len(p.pending) > 0 {
		return nil, fmt.Errorf("automatic filter: no label %s", p.pending[0].label)
	}
	if len(p.code) > maxInstructions {
		return nil, fmt.Errorf("automatic filter: %d instructions: the kernel takes %d", len(p.code), maxInstructions)
	}
	return p.code, nil
}
