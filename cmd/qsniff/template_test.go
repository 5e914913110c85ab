package main

import (
	"testing"

	"golang.org/x/net/bpf"

	"qsniff/capture"
	"qsniff/dissect"
	"qsniff/dissect/example"
	"qsniff/dissect/protocols"
	"qsniff/internal/test/dissecttest"
	"qsniff/internal/test/testpcap"
	"qsniff/netlayer"
)

// TestAutoFilterOfTheTemplate: what a protocol says of its messages is all that the
// filter takes: those of the template pass once it is in the registry, and not before.
func TestAutoFilterOfTheTemplate(t *testing.T) {
	machine := func(ps ...dissect.Protocol) *bpf.VM {
		reg, err := dissect.NewRegistry(ps...)
		if err != nil {
			t.Fatal(err)
		}
		program, err := automatic(reg, nil).Program(netlayer.LinkEthernet, capture.MaxCaptured)
		if err != nil {
			t.Fatal(err)
		}
		vm, err := bpf.NewVM(program)
		if err != nil {
			t.Fatal(err)
		}
		return vm
	}
	without, with := machine(protocols.All()...), machine(append(protocols.All(), example.New())...)
	for _, tc := range []struct {
		payload string
		ours    bool
	}{
		{"XQi", true}, {"XQi\x4b\xa1\xd5\x22", true}, {"XRc\x4b\xa1\xd5\x22", true}, {"XRiTest\x00dm1\x00\x03\x10", true},
		{"XQi\x4b", false}, {"XQj", false}, {"XQ", false}, {"XRc\x4b\xa1\xd5\x22\x00", false},
	} {
		d := testpcap.Datagram{Src: dissecttest.Client, Dst: dissecttest.Server, TTL: 64, Payload: []byte(tc.payload)}
		frame := d.Frame(testpcap.Link{Type: netlayer.LinkEthernet})
		before, err := without.Run(frame)
		if err != nil {
			t.Fatal(err)
		}
		after, err := with.Run(frame)
		if err != nil {
			t.Fatal(err)
		}
		if before != 0 || after != 0 != tc.ours {
			t.Errorf("%q: got %d bytes without the template and %d with it, want it to pass: %v", tc.payload, before, after, tc.ours)
		}
	}
}
