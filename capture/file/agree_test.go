//go:build !js

package file

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/gopacket"

	"qsniff/capture"
)

// readers are those that this build has, the own one first.
func readers() (all []reader) {
	all = []reader{{"native", func(name string, opts ...Option) (capture.Source, error) { return Open(name, opts...) }}, {"pcapgo", OpenPcapgo}}
	if HasLibpcap {
		all = append(all, reader{"libpcap", OpenLibpcap})
	}
	return all
}

type reader struct {
	name string
	open func(name string, opts ...Option) (capture.Source, error)
}

// read returns the packets of a capture, and why it ended.
func (r reader) read(t *testing.T, name string) ([]packet, error) {
	t.Helper()
	s, err := r.open(name, Pipe(feedPipe))
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return drain(t, s)
}

// feedPipe is the simplest way to feed libpcap.
func feedPipe(in io.Reader) (*os.File, error) {
	out, feed, err := os.Pipe()
	if err == nil {
		go func() {
			io.Copy(feed, in)
			feed.Close()
		}()
	}
	return out, err
}

// TestReadersAgree: the three readers find the same packets in every capture of the
// repository, as it is and as pcapng.
func TestReadersAgree(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("..", "..", "pcapfiles", "*", "*.pcap"))
	if err != nil || len(names) < 400 {
		t.Fatalf("%d captures, %v", len(names), err)
	}
	total := 0
	for _, name := range names {
		for _, path := range []string{name, asPcapng(t, name)} {
			want, err := readers()[0].read(t, path)
			if err != io.EOF {
				t.Errorf("%s: %v", name, err)
			}
			total += len(want)
			for _, r := range readers()[1:] {
				if got, err := r.read(t, path); err != io.EOF || !slices.Equal(got, want) {
					t.Errorf("%s, %s: %d packets of %d, %v", path, r.name, len(got), len(want), err)
				}
			}
		}
	}
	t.Logf("%d captures, twice; %d packets", len(names), total)
}

// asPcapng writes a capture as pcapng, and returns the name.
func asPcapng(t *testing.T, name string) string {
	t.Helper()
	r, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out bytes.Buffer
	w := NewWriter(&out, "x.pcapng", WriteOptions{Format: Pcapng})
	var b capture.Batch
	for err = r.Read(&b); err == nil; err = r.Read(&b) {
		for i := range b.Packets {
			if err := w.Write(&b.Packets[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return writeFile(t, "x.pcapng", out.Bytes())
}

// TestReadersDiffer: where the readers differ, and why; docs/safety.md has the list. A packet is its
// bytes and its second, the end "." is regular, "!" an error.
func TestReadersDiffer(t *testing.T) {
	v := variants[0]
	abc := func(b []byte) []byte { return v.record(b, 1, 0, 3, 3, []byte("abc")) }
	pcap := func(snap uint32) []byte { return v.header(4, snap, 1) }
	nano := opt{optTsresol, []byte{9}}
	ng := func(f func(w *ngWriter)) []byte {
		w := startNg(binary.LittleEndian)
		f(w)
		w.enhanced(0, 2_000_000_000, 3, "xyz")
		return w.b
	}
	for _, tc := range []struct {
		name                    string
		file                    []byte
		native, pcapgo, libpcap string
		why                     string
	}{
		{"damage between records", abc(append(v.record(pcap(0), 1, 0, 1<<31, 3, nil), abc(abc(nil))...)),
			"abc@1 abc@1 abc@1 !", "!", "!", "native searches for the next sound record"},
		{"cut in a record", append(abc(pcap(0)), abc(nil)[:17]...),
			"abc@1 !", "abc@1 !", "abc@1 !", ""},
		{"cut in a block", ng(func(w *ngWriter) { w.enhanced(0, 1_000_000_000, 3, "abc") })[:120],
			"abc@1 !", "abc@1 !", "abc@1 !", "pcapgo alone takes that for the end; the length is checked before"},
		{"longer than the snap length", abc(pcap(2)),
			"abc@1 .", "abc@1 .", "ab@1 .", "libpcap cuts to what the header promises"},
		{"longer captured than on the wire", v.record(pcap(0), 1, 0, 3, 2, []byte("abc")),
			"abc@1 .", "!", "abc@1 .", "pcapgo refuses it"},
		{"pcap 2.3", abc(v.header(3, 0, 1)),
			"abc@1 .", "!", "abc@1 .", "pcapgo reads 2.4"},
		{"link type 276", abc(v.header(4, 0, 276)),
			"abc@1 .", "abc@1 .", "abc@1 .", "gopacket's link type has 8 bits; it is taken from the file"},
		{"5 s in microseconds", v.record(pcap(0), 1, 5_000_000, 3, 3, []byte("abc")),
			"abc@6 .", "abc@1 .", "abc@6 .", "pcapgo multiplies in 32 bits"},
		{"after 2038", v.record(pcap(0), 1<<31+5, 0, 3, 3, []byte("abc")),
			"abc@2147483653 .", "abc@2147483653 .", "abc@-2147483643 .", "libpcap 1.10 takes seconds for signed"},
		{"two link types", ng(func(w *ngWriter) { w.iface(101, 0, nano); w.enhanced(1, 1_000_000_000, 3, "abc") }),
			"abc@1 xyz@2 .", "abc@1 xyz@2 .", "!", "libpcap has one link type a file"},
		{"a packet without time", ng(func(w *ngWriter) { w.enhanced(0, 1_000_000_000, 3, "abc"); w.simple(3, "def") }),
			"abc@1 def@1 xyz@2 .", "abc@1 def@1 xyz@2 .", "abc@1 def@0 xyz@2 .", "native gives it the time of the packet before; libpcap 1970"},
		{"units of 10^-20 s", ng(func(w *ngWriter) {
			w.iface(1, 0, opt{optTsresol, []byte{20}})
			w.enhanced(1, 1_000_000_000, 3, "abc")
		}),
			"abc@0 xyz@2 .", "!", "!", "a second of them does not fit into 64 bits"},
		{"time before 1970", ng(func(w *ngWriter) {
			w.iface(1, 0, w.option64(optTsoffset, 1<<64-9))
			w.enhanced(1, 1_000_000, 3, "abc")
		}),
			"abc@-8 xyz@2 .", "abc@-8 xyz@2 .", "abc@-8 xyz@2 .", ""},
		{"packet of no interface", ng(func(w *ngWriter) { w.enhanced(7, 1_000_000_000, 3, "abc") }),
			"xyz@2 !", "!", "!", "native skips a block whose content is impossible"},
		{"packet beyond its block", ng(func(w *ngWriter) {
			n := len(w.b)
			w.enhanced(0, 1_000_000_000, 3, "abc")
			w.b[n+20] = 9
		}),
			"xyz@2 !", "!", "!", "native skips a block whose content is impossible"},
		{"option beyond its block", ng(func(w *ngWriter) { w.iface(1, 0, text8(optName, "eth0")); w.b[len(w.b)-14] = 99 }),
			"xyz@2 .", "!", "!", "native takes the options up to there"},
		{"a section of version 2", ng(func(w *ngWriter) {
			n := len(w.b)
			w.section()
			w.b[n+12] = 2
			w.iface(1, 0)
			w.enhanced(0, 1, 3, "abc")
			w.section()
			w.iface(1, 0, nano)
		}),
			"xyz@2 !", "xyz@2 .", "!", "pcapgo skips it and says nothing"},
		{"a secrets block of 1 MiB", ng(func(w *ngWriter) { w.block(blockSecrets, make([]byte, 1<<20)) }),
			"xyz@2 .", "xyz@2 .", "xyz@2 .", ""},
		{"snap length of 4 GiB", ng(func(w *ngWriter) { w.iface(1, 1<<32-1, nano); w.enhanced(1, 1_000_000_000, 3, "abc") }),
			"abc@1 xyz@2 .", "abc@1 xyz@2 .", "abc@1 xyz@2 .", "it is bounded before pcapgo sees it"},
	} {
		path := writeFile(t, "x", tc.file)
		for i, want := range []string{tc.native, tc.pcapgo, tc.libpcap}[:len(readers())] {
			r := readers()[i]
			all, err := r.read(t, path)
			got := ""
			for _, p := range all {
				got += fmt.Sprintf("%s@%d ", p.Data, time.Unix(0, p.Nanos).Unix())
			}
			if err == io.EOF {
				got += "."
			} else {
				got += "!"
			}
			if got != want {
				t.Errorf("%s, %s: %s\ngot  %s (%v)\nwant %s", tc.name, r.name, tc.why, got, err, want)
			}
		}
	}
}

// TestPcapgoBounded: pcapgo allocates what a file claims, so it is not given such claims.
func TestPcapgoBounded(t *testing.T) {
	v := variants[0]
	w := startNg(binary.LittleEndian)
	w.iface(1, 1<<32-1)
	w.enhanced(1, 1, 3, "abc")
	for name, file := range map[string][]byte{
		"snap length of pcap": v.record(v.header(4, 1<<32-1, 1), 1, 0, 3, 3, []byte("abc")),
		"record":              v.record(v.header(4, 1<<32-1, 1), 1, 0, 1<<31, 1<<31, []byte("abc")),
		"interface of pcapng": w.b,
	} {
		path := writeFile(t, "x", file)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		reader{"pcapgo", OpenPcapgo}.read(t, path)
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 4<<20 {
			t.Errorf("%s: %d bytes were allocated", name, got)
		}
	}
	w = startNg(binary.LittleEndian)
	for range maxPcapgoDescriptions/60_000 + 1 {
		w.iface(1, 0, text8(optName, strings.Repeat("x", 60_000)))
	}
	if _, err := (reader{"pcapgo", OpenPcapgo}).read(t, writeFile(t, "x", w.b)); err == nil || !strings.Contains(err.Error(), "interface descriptions above the limit") {
		t.Errorf("got  %v\nwant a limit", err)
	}
}

// panicking is a reader of gopacket's that fails.
type panicking struct{}

func (panicking) ZeroCopyReadPacketData() ([]byte, gopacket.CaptureInfo, error) {
	panic("index out of range")
}

// TestPanicIsError: a panic of gopacket's becomes the error of the capture.
func TestPanicIsError(t *testing.T) {
	s := &pcapgoSource{packetwise: packetwise{name: "x.pcap", in: panicking{}, regular: true}, units: &unitReader{offset: 24}}
	s.explain, s.describe = s.readError, s.describePacket
	var b capture.Batch
	for range 2 {
		if err := s.Read(&b); err == nil || err.Error() != "x.pcap: byte 24: pcapgo: panic: index out of range" {
			t.Errorf("got  %v", err)
		}
	}
}

// FuzzPcapgo: whatever a file holds, pcapgo gets no more memory than a few units take,
// and every packet is one of the file's.
func FuzzPcapgo(f *testing.F) {
	for i, v := range variants {
		file, _ := randomFile(v, rand.New(rand.NewPCG(uint64(i), 1)), 5, 40)
		f.Add(file)
		ng, _ := randomNg(rand.New(rand.NewPCG(uint64(i), 2)), 20, 40)
		f.Add(ng)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		s := &pcapgoSource{packetwise: packetwise{name: "x", regular: true}}
		s.explain, s.describe = s.readError, s.describePacket
		start := file[:min(len(file), longestHeader)]
		if packingOf(start) != nil || s.begin(start, bytes.NewReader(file[len(start):])) != nil {
			return
		}
		all, _ := drain(t, s)
		for _, p := range all {
			if !bytes.Contains(file, []byte(p.Data)) {
				t.Errorf("packet %d is not in the file", p.No)
			}
		}
	})
}
