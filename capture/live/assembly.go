package live

import (
	"fmt"

	"golang.org/x/net/bpf"
)

// assembly collects the instructions of a filter. Jumps go forward, to the next label
// of that name, however far.
type assembly struct {
	code []bpf.Instruction
	snap uint32
	open []pendingJump
}

// pendingJump is a jump whose label has not come yet.
type pendingJump struct {
	at    int
	label string
}

func (p *assembly) add(code ...bpf.Instruction) { p.code = append(p.code, code...) }

// pass keeps the packet, drop does not.
func (p *assembly) pass() { p.add(bpf.RetConstant{Val: p.snap}) }
func (p *assembly) drop() { p.add(bpf.RetConstant{Val: 0}) }

// passIf keeps the packet if A is one of the values.
func (p *assembly) passIf(values ...uint32) {
	for _, v := range values {
		p.add(bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipFalse: 1})
		p.pass()
	}
}

// jump goes to a label if A is one of the values. Conditional jumps reach 255
// instructions, so each is one over an unconditional jump.
func (p *assembly) jump(label string, values ...uint32) {
	for _, v := range values {
		p.add(bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipFalse: 1})
		p.jumpAlways(label)
	}
}

func (p *assembly) jumpAlways(label string) {
	p.open = append(p.open, pendingJump{len(p.code), label})
	p.add(bpf.Jump{})
}

// label is where jumps to it go that stand before it.
func (p *assembly) label(name string) {
	rest := p.open[:0]
	for _, j := range p.open {
		if j.label == name {
			p.code[j.at] = bpf.Jump{Skip: uint32(len(p.code) - j.at - 1)}
		} else {
			rest = append(rest, j)
		}
	}
	p.open = rest
}

// assemble returns the program. A jump without a label is a mistake in this package,
// and no program.
func (p *assembly) assemble() ([]bpf.Instruction, error) {
	if len(p.open) > 0 {
		return nil, fmt.Errorf("automatic filter: no label %s", p.open[0].label)
	}
	if len(p.code) > maxInstructions {
		return nil, fmt.Errorf("automatic filter: %d instructions: the kernel takes %d", len(p.code), maxInstructions)
	}
	return p.code, nil
}
