#!/usr/bin/env bash
# A good engineer would guess: a pcapng file that was cut within a block, as a capture on a full disk or a copy of a growing
# file is, ends with io.ErrUnexpectedEOF, as pcapgo's reader of classic pcap reports it.
#
# What happens: pcapgo.NgReader returns io.EOF, as after a whole file. A program cannot know that packets are missing.
#
# Seen with github.com/google/gopacket v1.1.19 (the last release).
#
# Why it matters: an analysis of half a capture looks like one of all of it. Check the lengths of blocks before pcapgo reads
# them, as qsniff --reader gopacket does.
#
# Takes Go and the module proxy. Exits with 1 if what is seen differs.
set -eu
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >go.mod <<'MOD'
module cut

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

// read counts packets, and returns why reading ended.
func read(in gopacket.PacketDataSource) (n int, err error) {
	for ; err == nil; n++ {
		_, _, err = in.ReadPacketData()
	}
	return n - 1, err
}

func main() {
	data := make([]byte, 100)
	info := gopacket.CaptureInfo{Timestamp: time.Unix(1700000000, 0), CaptureLength: len(data), Length: len(data)}
	var ng, classic bytes.Buffer
	w, _ := pcapgo.NewNgWriter(&ng, layers.LinkTypeEthernet)
	c := pcapgo.NewWriter(&classic)
	c.WriteFileHeader(65536, layers.LinkTypeEthernet)
	for i := 0; i < 3; i++ {
		w.WritePacket(info, data)
		c.WritePacket(info, data)
	}
	w.Flush()
	r, _ := pcapgo.NewNgReader(bytes.NewReader(ng.Bytes()[:ng.Len()-60]), pcapgo.DefaultNgReaderOptions)
	n, ngErr := read(r)
	fmt.Printf("pcapng, cut in the third of three packets: %d packets, then %v\n", n, ngErr)
	r2, _ := pcapgo.NewReader(bytes.NewReader(classic.Bytes()[:classic.Len()-60]))
	n, err := read(r2)
	fmt.Printf("pcap, cut in the third of three packets:   %d packets, then %v\n", n, err)
	if ngErr != io.EOF || err != io.ErrUnexpectedEOF {
		os.Exit(1)
	}
}
GO
go get github.com/google/gopacket/pcapgo@v1.1.19 2>/dev/null
go run .
