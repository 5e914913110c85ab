package pcapfilter

import (
	"encoding/binary"
	"errors"

	"golang.org/x/net/bpf"
)

// Program is a program in classic BPF. It may be used by several goroutines.
type Program struct {
	raw  []bpf.RawInstruction
	code []bpf.RawInstruction
}

// Classes, modes and sizes of instructions (the paper of McCanne and Jacobson, and Linux's
// Documentation/networking/filter.rst).
const (
	classMask = 0x07
	classLD   = 0x00
	classLDX  = 0x01
	classST   = 0x02
	classSTX  = 0x03
	classALU  = 0x04
	classJMP  = 0x05
	classRET  = 0x06
	classMISC = 0x07

	modeMask = 0xe0
	modeIMM  = 0x00
	modeABS  = 0x20
	modeIND  = 0x40
	modeMEM  = 0x60
	modeLEN  = 0x80
	modeMSH  = 0xa0

	sizeMask  = 0x18
	fromX     = 0x08 // source of ALU and JMP
	retA      = 0x10 // source of RET
	opMask    = 0xf0
	opTXA     = 0x80
	jumpAlway = 0x00
)

// NewProgram returns a program for Match. It refuses what does not end: jumps go forward and not
// over the end, and the last instruction returns.
func NewProgram(raw []bpf.RawInstruction) (*Program, error) {
	if len(raw) == 0 || raw[len(raw)-1].Op&classMask != classRET {
		return nil, errors.New("a filter program without a verdict at its end")
	}
	for i, r := range raw {
		left := uint64(len(raw) - 1 - i)
		switch r.Op & classMask {
		case classJMP:
			if r.Op&opMask == jumpAlway {
				if uint64(r.K) >= left {
					return nil, errors.New("a filter program jumps over its end")
				}
			} else if uint64(max(r.Jt, r.Jf)) >= left {
				return nil, errors.New("a filter program jumps over its end")
			}
		case classST, classSTX:
			if r.K >= 16 {
				return nil, errors.New("a filter program uses more than 16 cells")
			}
		case classLD, classLDX:
			if r.Op&modeMask == modeMEM && r.K >= 16 {
				return nil, errors.New("a filter program uses more than 16 cells")
			}
		}
	}
	return &Program{raw: raw, code: raw}, nil
}

// Match runs the program over a packet of which data was captured and that was wire bytes long. It
// returns how many bytes to keep, 0 to drop it. What only the kernel knows of a packet drops it.
func (p *Program) Match(data []byte, wire uint32) uint32 {
	n, _ := p.run(data, wire)
	return n
}

// run is Match. isCut is set if the packet is dropped because the program needs what was not captured, or
// divides by zero.
func (p *Program) run(data []byte, wire uint32) (keep uint32, isCut bool) {
	var a, x uint32
	var cells [16]uint32
	for pc := 0; pc < len(p.code); pc++ {
		r := &p.code[pc]
		switch r.Op & classMask {
		case classLD:
			switch r.Op & modeMask {
			case modeIMM:
				a = r.K
			case modeMEM:
				a = cells[r.K&15]
			case modeLEN:
				a = wire
			default:
				at := uint64(r.K)
				if r.Op&modeMask == modeIND {
					at += uint64(x)
				}
				var ok bool
				if a, ok = loadBytes(data, at, r.Op&sizeMask); !ok {
					return 0, true
				}
			}
		case classLDX:
			switch r.Op & modeMask {
			case modeIMM:
				x = r.K
			case modeMEM:
				x = cells[r.K&15]
			case modeLEN:
				x = wire
			default:
				b, ok := loadBytes(data, uint64(r.K), 0x10)
				if !ok {
					return 0, true
				}
				x = b & 0x0f << 2
			}
		case classST:
			cells[r.K&15] = a
		case classSTX:
			cells[r.K&15] = x
		case classALU:
			y := r.K
			if r.Op&fromX != 0 {
				y = x
			}
			var ok bool
			if a, ok = calculate(r.Op&opMask, a, y); !ok {
				return 0, true
			}
		case classJMP:
			y := r.K
			if r.Op&fromX != 0 {
				y = x
			}
			var holds bool
			switch r.Op & opMask {
			case jumpAlway:
				pc += int(r.K)
				continue
			case 0x10:
				holds = a == y
			case 0x20:
				holds = a > y
			case 0x30:
				holds = a >= y
			default:
				holds = a&y != 0
			}
			if holds {
				pc += int(r.Jt)
			} else {
				pc += int(r.Jf)
			}
		case classRET:
			if r.Op&0x18 == retA {
				return a, false
			}
			return r.K, false
		default:
			if r.Op&0xf8 == opTXA {
				a = x
			} else {
				x = a
			}
		}
	}
	return 0, false
}

// loadBytes returns the number at an offset, most significant byte first.
func loadBytes(data []byte, at uint64, size uint16) (uint32, bool) {
	switch n := uint64(len(data)); {
	case size == 0x00 && at+4 <= n:
		return binary.BigEndian.Uint32(data[at:]), true
	case size == 0x08 && at+2 <= n:
		return uint32(binary.BigEndian.Uint16(data[at:])), true
	case size == 0x10 && at < n:
		return uint32(data[at]), true
	}
	return 0, false
}

// calculate returns a op y. Division by zero drops the packet.
func calculate(op uint16, a, y uint32) (uint32, bool) {
	switch op {
	case 0x00:
		return a + y, true
	case 0x10:
		return a - y, true
	case 0x20:
		return a * y, true
	case 0x30, 0x90:
		switch {
		case y == 0:
			return 0, false
		case op == 0x30:
			return a / y, true
		}
		return a % y, true
	case 0x40:
		return a | y, true
	case 0x50:
		return a & y, true
	case 0x60:
		return a << y, true
	case 0x70:
		return a >> y, true
	case 0xa0:
		return a ^ y, true
	}
	return -a, true
}
