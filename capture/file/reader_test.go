package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket/pcapgo"

	"qsniff/capture"
	"qsniff/internal/base/digits"
	"qsniff/internal/test/hextest"
)

func TestReadVariants(t *testing.T) {
	const day = 1_700_000_000
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			file := v.header(4, 0, 276)
			file = v.record(file, day, 5, 3, 60, []byte("abc"))
			file = v.record(file, 1<<32-1, 7, 0, 0, nil)
			r := mustReader(t, file)
			got, err := drain(t, r)
			want := []packet{
				{1, day*1e9 + 5*v.fraction, "abc", 60, 276},
				{2, (1<<32-1)*1e9 + 7*v.fraction, "", 0, 276},
			}
			if diff := cmp.Diff(want, got); diff != "" || err != io.EOF {
				t.Errorf("error %v, packets (-want +got):\n%s", err, diff)
			}
			if got, want := r.Stats(), (capture.Stats{Received: 2, Bytes: int64(len(file))}); got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

func TestFileHeader(t *testing.T) {
	tests := []struct {
		name    string
		in      string
		link    uint16
		snapLen uint32
	}{
		{"current", "d4c3b2a1 0200 0400 00000000 00000000 00000400 01000000", 1, 262_144},
		{"SLL2", "d4c3b2a1 0200 0400 00000000 00000000 00000400 14010000", 276, 262_144},
		{"FCS length above the link type", "a1b2c3d4 0002 0004 00000000 00000000 0000ffff 54000001", 1, 65_535},
		{"reserved bits above the link type", "a1b2c3d4 0002 0004 00000000 00000000 0000ffff 0fff0071", 113, 65_535},
		{"no snap length", "a1b23c4d 0002 0004 00000000 00000000 00000000 00000065", 101, 0},
		{"largest snap length", "4d3cb2a1 0200 0400 00000000 00000000 ffffffff 65000000", 101, 1<<32 - 1},
		{"later minor version", "d4c3b2a1 0200 0900 00000000 00000000 00000400 01000000", 1, 262_144},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := mustReader(t, hextest.Bytes(t, tt.in))
			if r.LinkType() != tt.link || r.SnapLen() != tt.snapLen {
				t.Errorf("got  link type %d, snap length %d\nwant link type %d, snap length %d",
					r.LinkType(), r.SnapLen(), tt.link, tt.snapLen)
			}
			if got, err := drain(t, r); err != io.EOF || got != nil {
				t.Errorf("got  %v, %v\nwant no packets, EOF", got, err)
			}
		})
	}
}

func TestRecordHeader(t *testing.T) {
	little := variants[0]
	tests := []struct {
		name    string
		variant variant
		minor   uint16
		in      string
		nanos   int64
		wire    uint32
	}{
		{"a second of microseconds carries", little, 4,
			"01000000 40420f00 # 1 s, 1,000,000 µs \n 02000000 02000000 abcd", 2e9, 2},
		{"more than a second of nanoseconds carries", variants[3], 4,
			"00000001 ffffffff 00000002 00000002 abcd", 1e9 + 1<<32 - 1, 2},
		{"wire length below captured length", little, 4,
			"01000000 00000000 02000000 01000000 abcd", 1e9, 2},
		{"version 2.2 has the wire length first", little, 2,
			"01000000 00000000 3c000000 02000000 abcd", 1e9, 60},
		{"version 2.3 with the wire length first", little, 3,
			"01000000 00000000 3c000000 02000000 abcd", 1e9, 60},
		{"version 2.3 with the captured length first", little, 3,
			"01000000 00000000 02000000 3c000000 abcd", 1e9, 60},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := append(tt.variant.header(tt.minor, 0, 1), hextest.Bytes(t, tt.in)...)
			got, err := drain(t, mustReader(t, file))
			want := []packet{{1, tt.nanos, "\xab\xcd", tt.wire, 1}}
			if diff := cmp.Diff(want, got); diff != "" || err != io.EOF {
				t.Errorf("error %v, packets (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestAgainstPcapgo(t *testing.T) {
	for i, v := range variants {
		for _, maxLen := range []int{0, 60, 1514, 70_000} {
			rng := rand.New(rand.NewPCG(uint64(i), uint64(maxLen)))
			file, _ := randomFile(v, rng, 3_000_000/(maxLen+1000), maxLen)
			oracle, err := pcapgo.NewReader(bytes.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			var want []packet
			for {
				data, ci, err := oracle.ReadPacketData()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				want = append(want, packet{uint64(len(want) + 1), ci.Timestamp.UnixNano(), string(data), uint32(ci.Length), 1})
			}
			got, err := drain(t, mustReader(t, file))
			if diff := cmp.Diff(want, got); diff != "" || err != io.EOF {
				t.Errorf("%s, up to %d bytes: error %v, packets (-want +got):\n%.2000s", v.name, maxLen, err, diff)
			}
		}
	}
}

// Records across chunk borders, in every way in which an input can hand them
// over.
func TestShortReads(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	sizes := []struct {
		name string
		size func() int
	}{
		{"one byte", func() int { return 1 }},
		{"two bytes", func() int { return 2 }},
		{"sometimes none", func() int { return rng.IntN(2) }},
		{"random", func() int { return 1 + rng.IntN(5000) }},
		{"decompressor", func() int { return 32 << 10 }},
		{"everything", func() int { return 1 << 30 }},
	}
	files := []struct{ n, maxLen int }{{2000, 100}, {300, 3000}, {5, capture.MaxCaptured}}
	for _, f := range files {
		file, want := randomFile(variants[0], rng, f.n, f.maxLen)
		for _, s := range sizes {
			r, err := NewReader(&shortReader{bytes.NewReader(file), s.size}, "x.pcap")
			if err != nil {
				t.Fatal(err)
			}
			got, err := drain(t, r)
			if diff := cmp.Diff(want, got); diff != "" || err != io.EOF {
				t.Errorf("%d packets, %s: error %v, packets (-want +got):\n%.2000s", f.n, s.name, err, diff)
			}
		}
	}
}

// Sizes that change make the chunk follow; whatever it does, no packet may be
// lost at a border.
func TestChangingSizes(t *testing.T) {
	v := variants[2]
	file := v.header(4, 0, 1)
	count := 0
	for _, phase := range []struct{ n, size int }{{5000, 20}, {3000, 1500}, {20_000, 0}, {4, capture.MaxCaptured}, {3000, 60}} {
		data := make([]byte, phase.size)
		for range phase.n {
			file = v.record(file, uint32(count), 0, uint32(phase.size), uint32(phase.size), data)
			count++
		}
	}
	for _, open := range []func() (*Reader, error){
		func() (*Reader, error) { return NewReader(bytes.NewReader(file), "x.pcap") },
		func() (*Reader, error) { return Open(writeFile(t, "x.pcap", file)) },
	} {
		r, err := open()
		if err != nil {
			t.Fatal(err)
		}
		got, err := drain(t, r)
		if len(got) != count || err != io.EOF {
			t.Errorf("got  %d packets, %v\nwant %d, EOF", len(got), err, count)
		}
		for i, p := range got {
			if p.Nanos != int64(i)*1e9 {
				t.Fatalf("packet %d: got time %d\nwant %d", i+1, p.Nanos, int64(i)*1e9)
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Batches of a regular file are full once the chunk has found its size.
func TestRegularFileFillsBatches(t *testing.T) {
	v := variants[0]
	file := v.header(4, 0, 1)
	for range 20 * capture.MaxPackets {
		file = v.record(file, 1, 1, 71, 71, make([]byte, 71))
	}
	r, err := Open(writeFile(t, "x.pcap", file))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, want := r.Stats().Size, int64(len(file)); got != want {
		t.Errorf("got size  %d\nwant size %d", got, want)
	}
	var b capture.Batch
	if err := r.Read(&b); err != nil {
		t.Fatal(err)
	}
	for range 18 {
		if err := r.Read(&b); err != nil || len(b.Packets) != capture.MaxPackets {
			t.Fatalf("got  %d packets, %v\nwant %d, no error", len(b.Packets), err, capture.MaxPackets)
		}
	}
}

// A packet that has arrived is delivered although the pipe stays open.
func TestPipeDoesNotWaitForAFullBatch(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	v := variants[0]
	write := func(b []byte) {
		t.Helper()
		if _, err := out.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	write(v.header(4, 0, 1))
	r, err := NewReader(in, "standard input")
	if err != nil {
		t.Fatal(err)
	}
	next := v.record(nil, 2, 0, 4, 4, []byte("next"))
	write(append(v.record(nil, 1, 0, 3, 3, []byte("abc")), next[:5]...))
	var b capture.Batch
	if err := r.Read(&b); err != nil || len(b.Packets) != 1 || string(b.Packets[0].Data) != "abc" {
		t.Fatalf("got  %v, %v\nwant the first packet", b.Packets, err)
	}
	write(next[5:])
	if err := r.Read(&b); err != nil || len(b.Packets) != 1 || string(b.Packets[0].Data) != "next" {
		t.Fatalf("got  %v, %v\nwant the second packet", b.Packets, err)
	}
}

// Packets stay as they are while other batches are filled.
func TestBatchesAreIndependent(t *testing.T) {
	file, want := randomFile(variants[0], rand.New(rand.NewPCG(3, 4)), 5000, 300)
	r := mustReader(t, file)
	var batches []*capture.Batch
	for {
		b := new(capture.Batch)
		if err := r.Read(b); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		batches = append(batches, b)
	}
	var got []packet
	for _, b := range batches {
		for _, p := range b.Packets {
			got = append(got, packet{p.No, p.Nanos, string(p.Data), p.Wire, p.Link})
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("packets (-want +got):\n%.2000s", diff)
	}
}

func TestInputErrorComesAfterThePackets(t *testing.T) {
	file, want := randomFile(variants[0], rand.New(rand.NewPCG(5, 6)), 10, 50)
	broken := errors.New("disk on fire")
	r, err := NewReader(io.MultiReader(bytes.NewReader(file), &failing{broken}), "x.pcap")
	if err != nil {
		t.Fatal(err)
	}
	got, err := drain(t, r)
	if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, broken) {
		t.Errorf("error %v, packets (-want +got):\n%s", err, diff)
	}
	if want := "x.pcap: byte " + digits.Grouped(int64(len(file))) + ": disk on fire"; err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
}

type failing struct{ err error }

func (r *failing) Read([]byte) (int, error) { return 0, r.err }

func TestReaderThatHangs(t *testing.T) {
	_, err := NewReader(&failing{nil}, "x.pcap")
	if !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("got  %v\nwant %v", err, io.ErrNoProgress)
	}
}

func TestClose(t *testing.T) {
	file, _ := randomFile(variants[0], rand.New(rand.NewPCG(7, 8)), 10, 50)
	r, err := Open(writeFile(t, "x.pcap", file))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.Close(); err != nil {
			t.Errorf("got  %v\nwant no error", err)
		}
	}
	_, err = drain(t, r)
	if !errors.Is(err, os.ErrClosed) || !strings.HasSuffix(err.Error(), ": file already closed") {
		t.Errorf("got  %v\nwant %v", err, os.ErrClosed)
	}
}

// TestMarks: what is read from a mark on is what the first reader read there.
func TestMarks(t *testing.T) {
	names, err := filepath.Glob("../../pcapfiles/*/*.pcap*")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{"two sections": nil}
	for i, name := range names {
		if ext := filepath.Ext(name); ext == ".pcap" && i%8 == 0 || ext == ".pcapng" {
			if all[name], err = os.ReadFile(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	all["two sections"] = sections(t)
	for name, data := range all {
		r, err := NewReader(iotest.OneByteReader(bytes.NewReader(data)), name) // batches of a packet
		if err != nil {
			continue
		}
		var marks []Mark
		var packets []string
		var b capture.Batch
		for err == nil {
			if m, ok := r.Mark(); ok {
				marks = append(marks, m)
			}
			err = r.Read(&b)
			packets = append(packets, describe(&b)...)
		}
		if len(marks) < 1 {
			t.Errorf("%s: no marks", name)
		}
		step := 1
		if testing.Short() { // each mark reads the rest of the capture
			step = 1 + len(marks)/50
		}
		for i := 0; i < len(marks); i += step {
			m := marks[i]
			again := r.Resume(m, bytes.NewReader(data[m.Offset:]))
			var got []string
			var err error
			for err == nil {
				err = again.Read(&b)
				got = append(got, describe(&b)...)
			}
			if want := packets[m.Packets:]; !slices.Equal(want, got) {
				t.Fatalf("%s: from packet %d on (-want +got):\n%s", name, m.Packets, cmp.Diff(want, got))
			}
		}
	}
}

// sections returns a capture of two sections with different interfaces.
func sections(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	for n := range 2 {
		w := NewWriter(&out, "test", WriteOptions{})
		for i := range 5 {
			p := capture.Packet{No: uint64(i), Nanos: int64(1e18) + int64(i)*1000, Data: []byte{byte(n), byte(i), 3, 4}, Wire: 60, Link: uint16(1 + 100*n + i%2), Iface: uint16(i % 2)}
			if err := w.Write(&p); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

func describe(b *capture.Batch) (all []string) {
	for i := range b.Packets {
		p := &b.Packets[i]
		all = append(all, fmt.Sprintf("%d %d %x %d %d %d", p.No, p.Nanos, p.Data, p.Wire, p.Link, p.Iface))
	}
	return all
}

// helperVariable makes the test binary read standard input instead of testing.
// The value says how.
const helperVariable = "QSNIFF_TEST_READ_STDIN"

func TestMain(m *testing.M) {
	switch os.Getenv(helperVariable) {
	case "native":
		r, err := Open(stdinArg)
		printPackets(r, err)
	case "libpcap":
		s, err := OpenLibpcap(stdinArg)
		printPackets(s, err)
	default:
		os.Exit(m.Run())
	}
}

func printPackets(src capture.Source, err error) {
	var b capture.Batch
	for err == nil {
		err = src.Read(&b)
		for _, p := range b.Packets {
			fmt.Printf("%d %d %s %d %d\n", p.No, p.Nanos, p.Data, p.Wire, p.Link)
		}
	}
	if err != io.EOF {
		fmt.Println(err)
	}
}

const packetsOnStdin = "1 1000000000 abc 60 276\n2 2000000000 de 2 276\n"

func fileOnStdin() []byte {
	v := variants[0]
	file := v.record(v.header(4, 0, 276), 1, 0, 3, 60, []byte("abc"))
	return v.record(file, 2, 0, 2, 2, []byte("de"))
}

func TestStandardInput(t *testing.T) {
	file := fileOnStdin()
	checkStdin(t, "native", file, packetsOnStdin)
	checkStdin(t, "native", file[:len(file)-1], "1 1000000000 abc 60 276\n"+
		"standard input: byte 43: record cut: its header promises 2 bytes, 1 remain\n")
	checkStdin(t, "native", nil, "standard input: empty, not even a file header\n")
}

// checkStdin has the test binary read in, once as a pipe and once as a file.
func checkStdin(t *testing.T, how string, in []byte, want string) {
	t.Helper()
	f, err := os.Open(writeFile(t, "x.pcap", in))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, stdin := range []io.Reader{bytes.NewReader(in), f} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), helperVariable+"="+how)
		cmd.Stdin = stdin
		got, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s, %T:\ngot  %s\nwant %s", how, stdin, got, want)
		}
	}
}
