#!/usr/bin/env bash
# A good engineer would guess: the virtual machine of golang.org/x/net/bpf runs every instruction that the package defines,
# assembles and disassembles, so that a filter that the kernel takes can be tried in a test, or run on a file, with it.
#
# What happens: NegateA (BPF_ALU|BPF_NEG) is assembled and disassembled, NewVM accepts a program with it, and Run ends with
# "unknown Instruction" once it gets there; a packet that does not reach it gets a verdict. libpcap emits the instruction for
# a unary minus ("-udp[4:2] = 5"). To multiply by 0xffffffff is the same in 32 bits, and runs everywhere.
#
# Seen with golang.org/x/net v0.62.0; tcpdump 4.99.3 with libpcap 1.10.3 (Debian 12).
#
# Why it matters: programs that take the output of `tcpdump -ddd` run it there when no kernel does, and learn of the gap from the first
# packet that goes far enough, not when the filter is loaded.
#
# Takes Go and the module proxy; tcpdump, if it is there, for the second half. Exits with 1 if what is seen differs.
set -eu
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >go.mod <<'MOD'
module negate

go 1.25
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/net/bpf"
)

// run returns what the machine makes of a one-byte packet in a program with the instruction in the middle.
func run(middle bpf.Instruction) (accepted int, loadErr, runErr error) {
	program := []bpf.Instruction{bpf.LoadAbsolute{Off: 0, Size: 1}, middle, bpf.RetA{}}
	raw, err := bpf.Assemble(program)
	if err != nil {
		panic(err)
	}
	if back, all := bpf.Disassemble(raw); !all || back[1] != middle {
		panic("not what was assembled")
	}
	vm, err := bpf.NewVM(program)
	if err != nil {
		return 0, err, nil
	}
	accepted, err = vm.Run([]byte{0xff})
	return accepted, nil, err
}

func main() {
	n, load, err := run(bpf.NegateA{})
	fmt.Printf("NegateA:             NewVM: %v; Run: %d, %v\n", load, n, err)
	m, load2, err2 := run(bpf.ALUOpConstant{Op: bpf.ALUOpMul, Val: 0xffffffff})
	fmt.Printf("multiply by 2^32-1:  NewVM: %v; Run: %d, %v\n", load2, uint32(m), err2)
	if load != nil || err == nil || !strings.Contains(err.Error(), "unknown Instruction") || load2 != nil || err2 != nil || uint32(m) != 0xffffff01 {
		os.Exit(1)
	}
}
GO
go get golang.org/x/net/bpf@v0.62.0 2>/dev/null
go run .
command -v tcpdump >/dev/null || { echo "skipped: tcpdump is not installed"; exit 0; }
tcpdump -y EN10MB -d -- '-udp[4:2] = len' | grep -w neg
