package main

import (
	"bytes"
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"qsniff/internal/test/testpcap"
)

const pcapfiles = "../../pcapfiles"

// captures lists the captures of this repository.
func captures(t testing.TB) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(pcapfiles, "*", "*.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	if len(names) < 100 {
		t.Fatalf("only %d captures found", len(names))
	}
	return names
}

// isRecorded reports whether a capture was recorded, and so has no source.
func isRecorded(name string) bool { return filepath.Base(filepath.Dir(name)) == "recorded" }

// eachCapture runs check on every capture i, several at once. They are done when t is:
// what sums them up belongs into t.Cleanup.
func eachCapture(t *testing.T, check func(t *testing.T, i int, name string)) {
	t.Helper()
	for i, name := range captures(t) {
		oneCapture(t, i, name, check)
	}
}

// someCaptures is eachCapture for a test that with -short has enough with every sixteenth
// capture, and with every second in the folders where what it is about differs most.
func someCaptures(t *testing.T, check func(t *testing.T, i int, name string), folders ...string) {
	t.Helper()
	for i, name := range captures(t) {
		step := 16
		if slices.Contains(folders, filepath.Base(filepath.Dir(name))) {
			step = 2
		}
		if !testing.Short() || i%step == 0 {
			oneCapture(t, i, name, check)
		}
	}
}

func oneCapture(t *testing.T, i int, name string, check func(t *testing.T, i int, name string)) {
	t.Run(strings.TrimSuffix(strings.TrimPrefix(name, pcapfiles+"/"), ".pcap"), func(t *testing.T) {
		t.Parallel()
		check(t, i, name)
	})
}

// smallTables spares a test that runs qsniff often the time to make tables for large captures.
const smallTables = "--memory=16M"

// output runs qsniff and returns what it printed on both streams and its status.
func output(t testing.TB, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, err bytes.Buffer
	status = run(context.Background(), args, streams{&out, &err})
	return out.String(), err.String(), status
}

// secretWords begin all passwords of the captures, or are the German word for one.
var secretWords = []string{"Secret", "geheim", "open sesame", "s3cr3t"}

// holdsSecret reports whether one packet of a capture has a whole secret word. Those in
// two packets, or compressed, it does not find.
func holdsSecret(t testing.TB, name string) bool {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range secretWords {
		if bytes.Contains(data, []byte(word)) {
			return true
		}
	}
	return false
}

// strangers is a capture of n exchanges with as many clients over UDP and TCP, whose
// ends no table can know all of.
func strangers(t *testing.T, n int) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := testpcap.NewWriter(&out, testpcap.Format{Link: testpcap.LinkRaw, SnapLen: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	now := testpcap.Start
	write := func(packet []byte, err error) {
		if now += 100_000; err == nil {
			err = w.WritePacket(now, packet)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	datagram := func(src, dst netip.AddrPort, payload string) {
		d := testpcap.Datagram{Src: src, Dst: dst, TTL: 64, Payload: []byte(payload)}
		write(d.Frame(testpcap.Link{Type: testpcap.LinkRaw}), nil)
	}
	login := []byte("\x12\x00\x00\x00\x01\x00\x00\x00\x03\x00\x00\x00password\x00\x00")
	for i := range n {
		client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 40001)
		server := netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 18, byte(i >> 8 & 15), byte(i)}), 27015)
		datagram(client, server, "\xff\xff\xff\xffTSource Engine Query\x00")
		datagram(server, client, "\xff\xff\xff\xffI\x11name\x00map\x00dir\x00game\x00\x0a\x00\x01\x10\x00dl\x00\x01\x31\x00")
		if i%4 == 0 {
			write(testpcap.Segment{Src: client, Dst: server, TTL: 64, Flags: testpcap.ACK, Payload: login}.IP())
		}
	}
	return out.Bytes()
}
