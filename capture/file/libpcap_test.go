//go:build cgo && !windows

package file

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"qsniff/capture"
	"qsniff/internal/test/hextest"
	"qsniff/internal/test/race"
)

// bothReaders reads the file natively and with libpcap.
func bothReaders(t *testing.T, path string) (native, libpcap []packet) {
	t.Helper()
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if native, err = drain(t, r); err != io.EOF {
		t.Errorf("native: got %v\nwant EOF", err)
	}
	s, err := OpenLibpcap(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if libpcap, err = drain(t, s); err != io.EOF {
		t.Errorf("libpcap: got %v\nwant EOF", err)
	}
	if r.Stats() != s.Stats() {
		t.Errorf("native  %+v\nlibpcap %+v", r.Stats(), s.Stats())
	}
	return native, libpcap
}

func TestAgainstLibpcap(t *testing.T) {
	for i, v := range variants {
		for _, f := range []struct{ n, maxLen int }{{5000, 100}, {500, 1514}, {8, capture.MaxCaptured}} {
			file, want := randomFile(v, rand.New(rand.NewPCG(uint64(i), 9)), f.n, f.maxLen)
			native, libpcap := bothReaders(t, writeFile(t, "x.pcap", file))
			if diff := cmp.Diff(native, libpcap); diff != "" {
				t.Errorf("%s: (-native +libpcap):\n%.2000s", v.name, diff)
			}
			if diff := cmp.Diff(want, libpcap); diff != "" {
				t.Errorf("%s: (-want +libpcap):\n%.2000s", v.name, diff)
			}
		}
	}
}

// What the format leaves open is decided as libpcap decides it.
func TestLeftOpenAsLibpcap(t *testing.T) {
	v := variants[0]
	tests := []struct {
		name  string
		minor uint16
		link  uint32
		in    string
	}{
		{"wire length first", 2, 1, "01000000 00000000 3c000000 02000000 abcd"},
		{"2.3, wire length first", 3, 1, "01000000 00000000 3c000000 02000000 abcd"},
		{"2.3, captured length first", 3, 1, "01000000 00000000 02000000 3c000000 abcd"},
		{"wire length below captured length", 4, 1, "01000000 00000000 02000000 01000000 abcd"},
		{"a second of microseconds", 4, 1, "01000000 40420f00 02000000 02000000 abcd"},
		{"SLL2", 4, 276, "01000000 00000000 02000000 02000000 abcd"},
		{"raw IP", 4, 101, "01000000 00000000 02000000 02000000 abcd"},
		{"unknown link type", 4, 3999, "01000000 00000000 02000000 02000000 abcd"},
		{"FCS length", 4, 0x54000001, "01000000 00000000 02000000 02000000 abcd"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := append(v.header(tt.minor, 0, tt.link), hextest.Bytes(t, tt.in)...)
			native, libpcap := bothReaders(t, writeFile(t, "x.pcap", file))
			if diff := cmp.Diff(native, libpcap); diff != "" || len(native) != 1 {
				t.Errorf("(-native +libpcap):\n%s", diff)
			}
		})
	}
}

// A pipe is opened once, gives the link type by name, and is not read ahead of
// what a packet needs.
func TestLibpcapPipe(t *testing.T) {
	for _, link := range []uint32{1, 101, 113, 276} {
		v := variants[0]
		path := filepath.Join(t.TempDir(), "pipe")
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Skip(err)
		}
		// Opened for both, so that neither end waits for the other.
		fd, err := syscall.Open(path, syscall.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		file := v.record(v.header(4, 0, link), 1, 0, 3, 60, []byte("abc"))
		if _, err := syscall.Write(fd, file); err != nil {
			t.Fatal(err)
		}
		s, err := OpenLibpcap(path)
		if err != nil {
			t.Fatal(err)
		}
		var b capture.Batch
		if err := s.Read(&b); err != nil {
			t.Fatal(err)
		}
		want := []capture.Packet{{No: 1, Nanos: 1e9, Data: []byte("abc"), Wire: 60, Link: uint16(link)}}
		if diff := cmp.Diff(want, b.Packets); diff != "" {
			t.Errorf("link type %d: (-want +got):\n%s", link, diff)
		}
		syscall.Close(fd)
		if err := s.Read(&b); err != io.EOF {
			t.Errorf("got  %v\nwant EOF", err)
		}
		s.Close()
	}
}

func TestLibpcapStandardInput(t *testing.T) {
	checkStdin(t, "libpcap", fileOnStdin(), packetsOnStdin)
}

func TestLibpcapReadsPcapng(t *testing.T) {
	var file bytes.Buffer
	w, err := pcapgo.NewNgWriter(&file, layers.LinkTypeLinuxSLL)
	if err != nil {
		t.Fatal(err)
	}
	info := gopacket.CaptureInfo{Timestamp: time.Unix(1_700_000_000, 5), CaptureLength: 3, Length: 60}
	if err := w.WritePacket(info, []byte("abc")); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	s, err := OpenLibpcap(writeFile(t, "x.pcapng", file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got, err := drain(t, s)
	want := []packet{{No: 1, Nanos: info.Timestamp.UnixNano(), Data: "abc", Wire: 60, Link: 113}}
	if diff := cmp.Diff(want, got); diff != "" || err != io.EOF {
		t.Errorf("error %v, packets (-want +got):\n%s", err, diff)
	}
}

// Both readers give the same packets of every format and compression that
// libpcap reads.
func TestLibpcapContainers(t *testing.T) {
	want := somePackets(rand.New(rand.NewPCG(7, 7)), forContainers(), 200)
	for _, c := range containers(want) {
		if strings.HasPrefix(c.name, "lcap") {
			continue
		}
		for _, z := range compressors {
			s, err := OpenLibpcap(writeFile(t, "x", compressed(t, z.open, c.file)), Pipe(feedPipe))
			if err != nil {
				t.Fatalf("%s, %s: %v", c.name, z.name, err)
			}
			got, err := drain(t, s)
			if !reflect.DeepEqual(want, got) || err != io.EOF { // which is quicker than cmp.Diff
				t.Errorf("%s, %s: error %v, packets (-want +got):\n%.1000s", c.name, z.name, err, cmp.Diff(want, got))
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestLibpcapCompressedErrors(t *testing.T) {
	plain := containers(somePackets(rand.New(rand.NewPCG(8, 8)), 1000, 200))[0].file
	file := compressed(t, compressors[1].open, plain)
	_, err := OpenLibpcap(writeFile(t, "x", file))
	if err == nil || !strings.HasSuffix(err.Error(), ": compressed with gzip, which libpcap does not read") {
		t.Errorf("got  %v\nwant a refusal", err)
	}
	s, err := OpenLibpcap(writeFile(t, "x", file[:len(file)/2]), Pipe(feedPipe))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got, err := drain(t, s); len(got) == 0 || err == nil || !strings.HasSuffix(err.Error(), ": gzip data cut") {
		t.Errorf("got  %d packets, %v\nwant some, and a cut", len(got), err)
	}
}

func TestLibpcapErrors(t *testing.T) {
	v := variants[0]
	good := v.record(v.header(4, 0, 1), 1, 0, 3, 3, []byte("abc"))
	dir := t.TempDir()
	tests := []struct {
		name, path, want string
		read             int
		is               error
	}{
		{"missing", filepath.Join(dir, "no.pcap"), ": no such file", 0, fs.ErrNotExist},
		{"directory", dir, ": is a directory", 0, syscall.EISDIR},
		{"empty", writeFile(t, "x", nil), ": libpcap: ", 0, nil},
		{"text", writeFile(t, "x", []byte("hello, this is text\n")), ": libpcap: unknown file format", 0, nil},
		{"cut in a record", writeFile(t, "x", append(good[:len(good):len(good)], good[24:42]...)), ": libpcap: truncated dump file", 1, nil},
		{"absurd length", writeFile(t, "x", v.record(good[:len(good):len(good)], 1, 0, 1<<31, 1<<31, nil)), ": libpcap: invalid packet capture length", 1, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := OpenLibpcap(tt.path)
			var got []packet
			if err == nil {
				defer s.Close()
				got, err = drain(t, s)
			}
			var e *Error
			if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), tt.path+tt.want) {
				t.Errorf("got  %v\nwant %s%s", err, tt.path, tt.want)
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("got  %v\nwant %v", err, tt.is)
			}
			if len(got) != tt.read {
				t.Errorf("got  %d packets\nwant %d", len(got), tt.read)
			}
		})
	}
}

func TestLibpcapAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	file, _ := randomFile(variants[0], rand.New(rand.NewPCG(1, 1)), 200_000, 100)
	s, err := OpenLibpcap(writeFile(t, "x.pcap", file))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var b capture.Batch
	if got := testing.AllocsPerRun(100, func() {
		if err := s.Read(&b); err != nil {
			t.Fatal(err)
		}
	}); got != 0 {
		t.Errorf("got  %v allocations a batch\nwant 0", got)
	}
}
