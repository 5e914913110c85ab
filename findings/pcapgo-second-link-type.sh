#!/usr/bin/env bash
# A good engineer would guess: two readers of pcapng agree on how many packets a file with an Ethernet and a cooked interface
# has, or both refuse it; pcapgo's documentation says that ignoring the packets of another link type than the first
# interface's "is the libpcap behaviour".
#
# What happens: pcapgo.NgReader with its default options returns the packets of the first link type and io.EOF, without a
# word about the others. libpcap ends with an error where the second interface is described: "an interface has a type 113
# different from the type of the first interface". So the same file is half or refused; and where the interface that
# matters is the second one, pcapgo shows a quiet network.
#
# Seen with github.com/google/gopacket v1.1.19 (the last release), and tcpdump 4.99.3 with libpcap 1.10.3 (Debian 12).
#
# Why it matters: dumpcap -i eth0 -i any, and mergecap, write such files. A program on pcapgo has to set WantMixedLinkType, or
# ErrorOnMismatchingLinkType, before it may say that somebody did not answer.
#
# Takes Go and the module proxy; tcpdump, if it is there, for the second half. Exits with 1 if what is seen differs.
set -eu
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >go.mod <<'MOD'
module mixed

go 1.21
MOD
cat >main.go <<'GO'
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
)

const each = 5

func count(file []byte, o pcapgo.NgReaderOptions) (n int, err error) {
	r, err := pcapgo.NewNgReader(bytes.NewReader(file), o)
	for ; err == nil; n++ {
		_, _, err = r.ReadPacketData()
	}
	return n - 1, err
}

func main() {
	var out bytes.Buffer
	w, err := pcapgo.NewNgWriter(&out, layers.LinkTypeEthernet)
	if err != nil {
		panic(err)
	}
	second, err := w.AddInterface(pcapgo.NgInterface{Name: "any", LinkType: layers.LinkTypeLinuxSLL, SnapLength: 65536})
	if err != nil {
		panic(err)
	}
	for i := 0; i < each; i++ {
		for _, index := range []int{0, second} {
			info := gopacket.CaptureInfo{Timestamp: time.Unix(1700000000, 0), CaptureLength: 60, Length: 60, InterfaceIndex: index}
			if err := w.WritePacket(info, make([]byte, 60)); err != nil {
				panic(err)
			}
		}
	}
	w.Flush()
	if err := os.WriteFile("mixed.pcapng", out.Bytes(), 0o644); err != nil {
		panic(err)
	}
	n, end := count(out.Bytes(), pcapgo.DefaultNgReaderOptions)
	fmt.Printf("pcapgo, default options:            %d of %d packets, then %v\n", n, 2*each, end)
	all, allEnd := count(out.Bytes(), pcapgo.NgReaderOptions{WantMixedLinkType: true})
	fmt.Printf("pcapgo, WantMixedLinkType:          %d of %d packets, then %v\n", all, 2*each, allEnd)
	if n != each || end != io.EOF || all != 2*each || allEnd != io.EOF {
		os.Exit(1)
	}
}
GO
go get github.com/google/gopacket/pcapgo@v1.1.19 2>/dev/null
go run .
command -v tcpdump >/dev/null || { echo "skipped: tcpdump is not installed"; exit 0; }
status=0
tcpdump -nn -r mixed.pcapng >out 2>err || status=$?
echo "tcpdump: $(wc -l <out) packets, exit status $status: $(grep -o 'an interface has a type.*' err)"
[ "$status" != 0 ] && grep -q 'different from the type of the first interface' err
