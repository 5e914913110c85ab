package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dsnet/compress/bzip2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"

	"qsniff/internal/test/testpcap"
)

// conversation is the IP packets of one golden capture and their times.
func conversation(t *testing.T) (packets [][]byte, nanos []int64) {
	t.Helper()
	c, err := testpcap.ReadFile(filepath.Join(pcapfiles, "net", "ethernet.hex"))
	if err != nil {
		t.Fatal(err)
	}
	const ethernet = 14
	for _, p := range c.Packets {
		packets = append(packets, p.Frame[ethernet:])
		nanos = append(nanos, p.Nanos)
	}
	return packets, nanos
}

// links are the ways to frame a packet.
var links = map[string]testpcap.Link{
	"ethernet": {Type: testpcap.LinkEthernet}, "vlan": {Type: testpcap.LinkEthernet, VLANs: []uint16{7}},
	"qinq": {Type: testpcap.LinkEthernet, VLANs: []uint16{7, 8}}, "null": {Type: testpcap.LinkNull},
	"raw": {Type: testpcap.LinkRaw}, "sll": {Type: testpcap.LinkSLL}, "sll2": {Type: testpcap.LinkSLL2},
}

type container func(w io.Writer, link uint16, frames [][]byte, nanos []int64) error

// containers are the forms of captures.
var containers = map[string]container{
	"pcap":            classic(testpcap.Format{}),
	"pcap-nano":       classic(testpcap.Format{Nano: true}),
	"pcap-big-endian": classic(testpcap.Format{BigEndian: true}),
	"pcapng":          blocks,
	"pcapng-gopacket": blocksByGopacket,
}

func classic(f testpcap.Format) container {
	return func(w io.Writer, link uint16, frames [][]byte, nanos []int64) error {
		f.Link, f.SnapLen = link, 262144
		out, err := testpcap.NewWriter(w, f)
		for i := 0; err == nil && i < len(frames); i++ {
			err = out.WritePacket(nanos[i], frames[i])
		}
		return err
	}
}

// blocks writes pcapng with a resolution of nanoseconds and any link type.
func blocks(w io.Writer, link uint16, frames [][]byte, nanos []int64) error {
	le := binary.LittleEndian
	block := func(typ uint32, body []byte) {
		for len(body)%4 != 0 {
			body = append(body, 0)
		}
		n := uint32(len(body) + 12)
		b := le.AppendUint32(le.AppendUint32(nil, typ), n)
		w.Write(le.AppendUint32(append(b, body...), n))
	}
	block(0x0a0d0d0a, le.AppendUint64([]byte{0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0}, ^uint64(0)))
	resolution := []byte{9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0}
	block(1, append(le.AppendUint32(le.AppendUint16(le.AppendUint16(nil, link), 0), 0), resolution...))
	for i, f := range frames {
		b := le.AppendUint32(nil, 0)
		b = le.AppendUint32(le.AppendUint32(b, uint32(nanos[i]>>32)), uint32(nanos[i]))
		b = le.AppendUint32(le.AppendUint32(b, uint32(len(f))), uint32(len(f)))
		block(6, append(b, f...))
	}
	return nil
}

// blocksByGopacket has another hand write the pcapng. Its link types have 8 bits.
func blocksByGopacket(w io.Writer, link uint16, frames [][]byte, nanos []int64) error {
	if link > 255 {
		return blocks(w, link, frames, nanos)
	}
	out, err := pcapgo.NewNgWriterInterface(w, pcapgo.NgInterface{LinkType: layers.LinkType(link), TimestampResolution: 9}, pcapgo.NgWriterOptions{})
	if err != nil {
		return err
	}
	for i, f := range frames {
		ci := gopacket.CaptureInfo{Timestamp: time.Unix(0, nanos[i]), CaptureLength: len(f), Length: len(f)}
		if err := out.WritePacket(ci, f); err != nil {
			return err
		}
	}
	return out.Flush()
}

// compressions are the ways to make a capture smaller.
var compressions = map[string]func(w io.Writer) (io.WriteCloser, error){
	"plain": func(w io.Writer) (io.WriteCloser, error) { return nopCloser{w}, nil },
	"gzip":  func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
	"zstd":  func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) },
	"lz4":   func(w io.Writer) (io.WriteCloser, error) { return lz4.NewWriter(w), nil },
	"bzip2": func(w io.Writer) (io.WriteCloser, error) { return bzip2.NewWriter(w, nil) },
	"xz":    func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) },
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// whereFrom is what may differ: how the packets came in.
var whereFrom = regexp.MustCompile(`"via":\[[^]]*\],|"interface(_name)?":[^,]*,`)

func messages(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, status := output(t, append([]string{"read", "-o", "json"}, args...)...)
	if status != exitOK {
		t.Fatalf("%v: exit status %d: %s", args, status, errs)
	}
	return whereFrom.ReplaceAllString(out, "")
}

// TestMatrix: every link type, in every container, compressed in every way, gives
// the messages of one conversation. With -short each two of the three meet: the
// compressions take turns.
func TestMatrix(t *testing.T) {
	packets, nanos := conversation(t)
	dir := t.TempDir()
	want := messages(t, filepath.Join(pcapfiles, "net", "ethernet.pcap"))
	if strings.Count(want, "\n") < 10 {
		t.Fatalf("the conversation is short: %s", want)
	}
	for l, lname := range slices.Sorted(maps.Keys(links)) {
		link := links[lname]
		var frames [][]byte
		for i, p := range packets {
			frames = append(frames, link.Frame(p, i%2 == 0))
		}
		for c, cname := range slices.Sorted(maps.Keys(containers)) {
			for z, zname := range slices.Sorted(maps.Keys(compressions)) {
				if testing.Short() && z != (l+c)%len(compressions) {
					continue
				}
				name := filepath.Join(dir, fmt.Sprintf("%s-%s-%s", lname, cname, zname))
				var b bytes.Buffer
				out, err := compressions[zname](&b)
				if err == nil {
					err = containers[cname](out, link.Type, frames, nanos)
				}
				if err == nil {
					err = out.Close()
				}
				if err == nil {
					err = os.WriteFile(name, b.Bytes(), 0o644)
				}
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if diff := cmp.Diff(want, messages(t, name)); diff != "" {
					t.Errorf("%s: want -, got +\n%s", filepath.Base(name), diff)
				}
			}
		}
	}
}

// TestForeignWriters reads what Wireshark's tools write, where they are installed.
func TestForeignWriters(t *testing.T) {
	in := filepath.Join(pcapfiles, "net", "ethernet.pcap")
	want := messages(t, in)
	dir := t.TempDir()
	for _, tc := range []struct {
		name string
		args []string // OUT is the file to write, IN the capture
	}{
		{"editcap", []string{"editcap", "-F", "pcapng", "IN", "OUT"}},
		{"editcap-nsec", []string{"editcap", "-F", "nsecpcap", "IN", "OUT"}},
		{"editcap-modpcap", []string{"editcap", "-F", "modpcap", "IN", "OUT"}},
		{"mergecap", []string{"mergecap", "-w", "OUT", "IN"}},
		{"tshark", []string{"tshark", "-r", "IN", "-w", "OUT"}},
		{"tcpdump", []string{"tcpdump", "-r", "IN", "-w", "OUT"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tool, err := exec.LookPath(tc.args[0])
			if err != nil {
				t.Skipf("%s is not installed", tc.args[0])
			}
			out := filepath.Join(dir, tc.name)
			args := strings.Split(strings.NewReplacer("IN", in, "OUT", out).Replace(strings.Join(tc.args[1:], "\x00")), "\x00")
			if msg, err := exec.Command(tool, args...).CombinedOutput(); err != nil {
				t.Skipf("%s cannot: %v %s", tc.args[0], err, msg)
			}
			if diff := cmp.Diff(want, messages(t, out)); diff != "" {
				t.Errorf("want -, got +\n%s", diff)
			}
		})
	}
}

// TestReadersAgree: gopacket's reader and ours give the same messages on every
// capture of this repository.
func TestReadersAgree(t *testing.T) {
	someCaptures(t, func(t *testing.T, _ int, name string) {
		ours := whereFrom.ReplaceAllString(printedOf(t, name).forms["json"], "")
		if diff := cmp.Diff(ours, messages(t, "--layout", "--reader", "gopacket", name)); diff != "" {
			t.Errorf("native -, gopacket +\n%s", diff)
		}
	}, "net", "hostile")
}
