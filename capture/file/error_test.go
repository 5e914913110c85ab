package file

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/capture"
	"qsniff/internal/test/hextest"
)

// A file cut anywhere yields the packets before the cut, and where it was cut.
func TestEveryTruncation(t *testing.T) {
	for _, v := range variants {
		file := v.header(4, 0, 1)
		ends := []int{len(file)}
		var want []packet
		for i, data := range []string{"first packet", "", "a", "the last packet"} {
			n := uint32(len(data))
			file = v.record(file, uint32(i), 0, n, n, []byte(data))
			ends = append(ends, len(file))
			want = append(want, packet{uint64(i + 1), int64(i) * 1e9, data, n, 1})
		}
		for n := range file {
			checkCut(t, file[:n], ends, want)
		}
	}
}

// checkCut reads file, whose records end at ends.
func checkCut(t *testing.T, file []byte, ends []int, want []packet) {
	t.Helper()
	whole, offset := 0, int64(0) // records before the cut, and where the cut one begins
	for i, end := range ends {
		if end <= len(file) {
			whole, offset = i, int64(end)
		}
	}
	r, err := NewReader(bytes.NewReader(file), "x.pcap")
	var got []packet
	if err == nil {
		got, err = drain(t, r)
	}
	if diff := cmp.Diff(want[:whole], got, cmp.Transformer("len0", func(p []packet) []packet { return append([]packet{}, p...) })); diff != "" {
		t.Errorf("cut at %d: packets (-want +got):\n%s", len(file), diff)
	}
	if int64(len(file)) == offset && len(file) > 0 {
		if err != io.EOF {
			t.Errorf("cut at %d, between records:\ngot  %v\nwant EOF", len(file), err)
		}
		return
	}
	if len(file) == 0 {
		offset = wholeFile
	}
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, io.ErrUnexpectedEOF) || e.Offset != offset || e.Hint == "" {
		t.Errorf("cut at %d:\ngot  %#v\nwant a cut at %d with a hint", len(file), err, offset)
	}
}

func TestDamage(t *testing.T) {
	const header = "d4c3b2a1 0200 0400 00000000 00000000 00000400 01000000 \n"
	const good = "01000000 00000000 02000000 02000000 abcd \n"
	tests := []struct {
		name string
		in   string
		read int // packets before the damage
		want string
		cut  bool
	}{
		{"empty", "", 0, "x.pcap: empty, not even a file header", true},
		{"part of the magic number", "d4c3", 0, "x.pcap: byte 0: file header cut: 2 of 24 bytes", true},
		{"file header", "d4c3b2a1 0200 0400 00", 0, "x.pcap: byte 0: file header cut: 9 of 24 bytes", true},
		{"version 1", "d4c3b2a1 0100 0400 00000000 00000000 00000400 01000000", 0,
			"x.pcap: byte 4: pcap version 1.4 not known, only 2.x is", false},
		{"record header", header + good + "01000000 000000", 1, "x.pcap: byte 42: record header cut: 7 of 16 bytes", true},
		{"record", header + good + "01000000 00000000 0a050000 0a050000 0102", 1,
			"x.pcap: byte 42: record cut: its header promises 1,290 bytes, 2 remain", true},
		{"record of the largest length", header + "01000000 00000000 00000400 00000400", 0,
			"x.pcap: byte 24: record cut: its header promises 262,144 bytes, 0 remain", true},
		{"one byte too long", header + good + "01000000 00000000 01000400 01000400 ff", 1,
			"x.pcap: byte 42: captured length 262,145 above the limit of 262,144", false},
		{"absurd length", header + good + good + "01000000 00000000 ffffffff ffffffff" + good, 3,
			"x.pcap: byte 60: captured length 4,294,967,295 above the limit of 262,144; 16 bytes skipped", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := NewReader(bytes.NewReader(hextest.Bytes(t, tt.in)), "x.pcap")
			var got []packet
			if err == nil {
				got, err = drain(t, r)
			}
			if len(got) != tt.read {
				t.Errorf("got  %d packets\nwant %d", len(got), tt.read)
			}
			if err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
			if got := errors.Is(err, io.ErrUnexpectedEOF); got != tt.cut {
				t.Errorf("got  cut %t\nwant cut %t", got, tt.cut)
			}
		})
	}
}

func TestForeign(t *testing.T) {
	const convert = "convert it: editcap -F pcap 'a file' OUT"
	const modified = "pcap of a modified libpcap, not read"
	tests := []struct{ name, in, reason, hint string }{
		{"zip", "PK\x03\x04\x14\x00", "zip archive", "decompress first: unzip -p 'a file' | qsniff -"},
		{"a1b234cd, little", "\xcd\x34\xb2\xa1\x02\x00", modified, convert},
		{"a1b2c30b, big", "\xa1\xb2\xc3\x0b\x00\x02", modified, convert},
		{"Navtel, little", "\x4d\x3c\x2b\xa1\x02\x00", modified, convert},
		{"snoop", "snoop\x00\x00\x00\x00\x00\x00\x02", "snoop capture, not read", convert},
		{"iptrace", "iptrace 2.0", "AIX iptrace capture, not read", convert},
		{"OmniPeek", "\x7fver\x00\x00\x00\x01", "OmniPeek capture, not read", convert},
		{"LANalyzer", "\x01\x10\x4c\x00\x01\x05Trace Display Trace File", "LANalyzer capture, not read", convert},
		{"nettl, HP-UX 10", "TR\x00d\x00", "HP-UX nettl trace, not read", convert},
		{"PacketLogger", "\x00\x00\x00\x0c\x53\x4f\x1d\x8c\x00\x08\x7a\x1f\x00\x03\x0c\x00" +
			"\x00\x00\x00\x0c\x53\x4f\x1d\x8c\x00\x08\x7a\x1f\x01\x03\x0c\x00", "PacketLogger capture of Bluetooth, not read", ""},
		{"Network Monitor", "GMBU\x00\x02\x01\x00", "Network Monitor capture, not read", convert},
		{"ERF", strings.Repeat("\x00\x00\x00\x00\x00\xf1\x53\x65\x02\x04\x00\x20\x00\x00\x00\x10"+strings.Repeat("\x00", 16), 2),
			"ERF capture, not read", convert},
		{"tar", "name" + strings.Repeat("\x00", 253) + "ustar\x00", "tar archive", "decompress first: tar -xOf 'a file' | qsniff -"},
		{"ELF", "\x7fELF\x02\x01", "program (ELF), not a capture", ""},
		{"PDF", "%PDF-1.7\n", "PDF document, not a capture", ""},
		{"HTML", "\xef\xbb\xbf \r\n<!DOCTYPE HTML><title>", "HTML page, not a capture",
			"the page around the file was saved instead of the file"},
		{"XML", "<?xml version=\"1.0\"?>", "XML, not a capture", ""},
		{"JSON object", " {\"schema\":1", "JSON, not a capture", ""},
		{"JSON array", "[1,2", "JSON, not a capture", ""},
		{"text", "22:13:20 IP 10.64.0.1.40001 > grüße", "text, not a capture",
			hexDumps},
		{"text cut in a character", "gr\xc3", "text, not a capture",
			hexDumps},
		{"Latin-1", "gr\xfc\xdfe", "not a capture file (starts with 67 72 fc df)", ""},
		{"binary", "\x00\x01\x02\x03\x04", "not a capture file (starts with 00 01 02 03)", ""},
		{"one byte", "\x00", "not a capture file (starts with 00)", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := NewReader(bytes.NewReader([]byte(tt.in)), "a file")
			var e *Error
			if !errors.As(err, &e) || !errors.Is(err, ErrFormat) || e.Offset != wholeFile || e.Reason != tt.reason || e.Hint != tt.hint {
				t.Errorf("got  %#v\nwant %s; %s", err, tt.reason, tt.hint)
			}
			if got, want := err.Error(), "a file: "+tt.reason; got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// Event traces are recognised by their name alone.
func TestForeignEventTrace(t *testing.T) {
	_, err := NewReader(strings.NewReader("\x00\x00\x01\x00\x78\x00"), "nic.ETL")
	if want := "nic.ETL: Windows event trace, not read"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// A hint for standard input cannot name a file.
func TestForeignStandardInput(t *testing.T) {
	tests := []struct{ name, in, hint string }{
		{"snoop", "snoop\x00\x00\x00\x00\x00\x00\x02", "save it to a file and convert that: editcap -F pcap IN OUT"},
		{"text", "hello", hexDumps},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := NewReader(bytes.NewReader([]byte(tt.in)), stdinName)
			var e *Error
			if !errors.As(err, &e) || e.Hint != tt.hint {
				t.Errorf("got  %#v\nwant hint %s", err, tt.hint)
			}
		})
	}
}

func TestShellWord(t *testing.T) {
	tests := []struct{ in, want string }{
		{"/var/log/a-1_b.pcap", "/var/log/a-1_b.pcap"},
		{"a b", "'a b'"},
		{"it's", `'it'\''s'`},
		{"$(x)", "'$(x)'"},
		{"", "''"},
	}
	for _, tt := range tests {
		if got := shellWord(tt.in); got != tt.want {
			t.Errorf("%q:\ngot  %s\nwant %s", tt.in, got, tt.want)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing.pcap")
	locked := filepath.Join(dir, "locked.pcap")
	if err := os.WriteFile(locked, nil, 0); err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(locked, "x.pcap")
	tests := []struct {
		name, file, reason string
		is                 error
	}{
		{"missing", missing, "no such file", fs.ErrNotExist},
		{"locked", locked, "permission denied", fs.ErrPermission},
		{"directory", dir, "is a directory", syscall.EISDIR},
		{"file as directory", below, "not a directory", syscall.ENOTDIR},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "locked" && os.Geteuid() == 0 {
				t.Skip("the superuser may read everything")
			}
			_, err := Open(tt.file)
			if !errors.Is(err, tt.is) {
				t.Errorf("got  %v\nwant %v", err, tt.is)
			}
			if want := tt.file + ": " + tt.reason; err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

// The text of every system error is checked here, because a test that runs as
// the superuser cannot provoke them all.
func TestSystemError(t *testing.T) {
	opening := func(err error) error { return &fs.PathError{Op: "open", Path: "x", Err: err} }
	tests := []struct {
		name         string
		in           error
		reason, hint string
	}{
		{"x", opening(syscall.ENOENT), "no such file", ""},
		{"x", opening(syscall.EACCES), "permission denied", "captures taken as root often belong to root: sudo chown $USER x"},
		{"x", opening(syscall.EISDIR), "is a directory", "name the captures in it: x/*.pcap"},
		{"x", opening(syscall.EIO), "input/output error", ""},
		{stdinName, opening(syscall.EISDIR), "is a directory", ""},
		{"x", io.ErrNoProgress, io.ErrNoProgress.Error(), ""},
	}
	for _, tt := range tests {
		got := systemError(tt.name, tt.in)
		if got.Reason != tt.reason || got.Hint != tt.hint || !errors.Is(got, tt.in) {
			t.Errorf("got  %+v\nwant %s; %s", got, tt.reason, tt.hint)
		}
	}
}

// A length in the file must not decide how much is allocated, neither one that
// is refused nor the largest that is believed.
func TestLengthsAllocateNothing(t *testing.T) {
	for _, length := range []uint32{capture.MaxCaptured, capture.MaxCaptured + 1, 1<<32 - 1} {
		v := variants[0]
		file := v.record(v.header(4, 1<<32-1, 1), 0, 0, length, length, []byte("x"))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := mustReader(t, file)
		var b capture.Batch
		b.Packets = make([]capture.Packet, 0, capture.MaxPackets)
		runtime.ReadMemStats(&before)
		err := r.Read(&b)
		runtime.ReadMemStats(&after)
		if err == nil || err == io.EOF {
			t.Fatalf("length %d: got %v\nwant damage", length, err)
		}
		if got, want := after.TotalAlloc-before.TotalAlloc, uint64(2*minChunk); got > want {
			t.Errorf("length %d: allocated %d bytes\nwant at most %d", length, got, want)
		}
	}
}

func TestNotPayload(t *testing.T) {
	const capture = "is a capture, not a payload"
	tests := []struct{ name, in, start, want, hint string }{
		{"pcap", "x.pcap", "\xd4\xc3\xb2\xa1\x02\x00", capture, "qsniff read x.pcap"},
		{"pcap, big-endian, nanoseconds", "my x", "\xa1\xb2\x3c\x4d", capture, "qsniff read 'my x'"},
		{"pcapng", stdinName, "\x0a\x0d\x0d\x0a", capture, "COMMAND | qsniff read -"},
		{"gzip", "x.gz", "\x1f\x8b\x08", "is compressed with gzip", "if it is a capture: qsniff read x.gz; if not, expand it with zcat"},
		{"zstd", "x", "\x28\xb5\x2f\xfd\x00", "is compressed with zstd", "if it is a capture: qsniff read x; if not, expand it with zstdcat --long=31"},
		{"nothing", "x", "", "", ""},
		{"start of a magic number", "x", "\xd4\xc3\xb2", "", ""},
		{"datagram", "x", "\xff\xff\xff\xffI", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := NotPayload(tt.in, []byte(tt.start))
			switch {
			case err == nil && tt.want != "", err != nil && tt.want == "":
				t.Errorf("got %v, want %q", err, tt.want)
			case err != nil && (err.Reason != tt.want || err.Hint != tt.hint):
				t.Errorf("got %q, %q\nwant %q, %q", err.Reason, err.Hint, tt.want, tt.hint)
			}
		})
	}
}
