package testpcap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
)

const goldenDir = "../../../pcapfiles"

// goldenFiles are all sources.
func goldenFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(goldenDir + "/*/*.hex")
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d sources, error %v", goldenDir, len(files), err)
	}
	return files
}

func parseFile(t *testing.T, path string) (*Capture, []byte) {
	t.Helper()
	c, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := c.WritePcap(&out); err != nil {
		t.Fatal(err)
	}
	return c, out.Bytes()
}

// recordedGroup is the folder of captures that were recorded: they have no source, and internal/test/recorded
// says what is in them.
const recordedGroup = "recorded"

// TestGoldenCurrent fails when a source changed and its capture did not, and
// when a capture has lost its source.
func TestGoldenCurrent(t *testing.T) {
	for _, path := range goldenFiles(t) {
		_, want := parseFile(t, path)
		got, err := os.ReadFile(strings.TrimSuffix(path, ".hex") + ".pcap")
		if err != nil {
			t.Errorf("%v; write it with: make golden", err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s: capture differs from what its source says; rewrite it with: make golden", path)
		}
	}
	captures, err := filepath.Glob(goldenDir + "/*/*.pcap")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range captures {
		if filepath.Base(filepath.Dir(path)) == recordedGroup {
			continue
		}
		if _, err := os.Stat(strings.TrimSuffix(path, ".pcap") + ".hex"); err != nil {
			t.Error(err)
		}
	}
}

// TestGoldenListed keeps the table of origins whole.
func TestGoldenListed(t *testing.T) {
	readme, err := os.ReadFile(goldenDir + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range goldenFiles(t) {
		name, _ := filepath.Rel(goldenDir, file)
		name = filepath.ToSlash(strings.TrimSuffix(name, ".hex"))
		if !strings.Contains(string(readme), "| "+name+" |") {
			t.Errorf("README.md: no row for %s", name)
		}
		if group := path.Dir(name); !strings.Contains(string(readme), "\n| "+group+" |") {
			t.Errorf("README.md: no row for the group %s", group)
		}
	}
}

// TestGoldenRoundTrip reads every capture with another program's reader and
// decoders and compares what arrives with what the source says.
func TestGoldenRoundTrip(t *testing.T) {
	for _, path := range goldenFiles(t) {
		t.Run(strings.TrimPrefix(path, goldenDir+"/"), func(t *testing.T) {
			c, file := parseFile(t, path)
			frames := readBack(t, c, file)
			if c.Format.SnapLen < defaultSnap || hasFrames(t, path) {
				return // Whole does not list what the frames hold; they were compared
			}
			var got, want [][]byte
			var segments []Segment
			join := joiner{}
			for _, frame := range frames {
				ip := stripLink(t, c.Link, frame)
				if isICMP(ip) {
					continue // Whole lists what was refused, not the refusal
				}
				if isTCP(ip) {
					segments = append(segments, tcpSegment(t, ip))
					continue
				}
				if payload, ok := join.add(t, ip); ok {
					got = append(got, payload)
				}
			}
			for _, d := range c.Whole {
				want = append(want, append([]byte{}, d.Payload...))
			}
			if !reflect.DeepEqual(want, got) { // which is quicker than cmp.Diff
				t.Errorf("payloads (-want +got):\n%s", cmp.Diff(want, got))
			}
			if !reflect.DeepEqual(c.Segments, segments) {
				t.Errorf("segments (-want +got):\n%s", cmp.Diff(c.Segments, segments, compareAddrs))
			}
		})
	}
}

// hasFrames reports whether a source writes some frames itself.
func hasFrames(t *testing.T, path string) bool {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Contains(text, []byte("\n!"))
}

// readBack returns the frames of file after comparing them, their times and
// the file header with c.
func readBack(t *testing.T, c *Capture, file []byte) [][]byte {
	t.Helper()
	r, err := pcapgo.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := uint8(r.LinkType()), uint8(c.Link.Type); got != want {
		t.Errorf("low byte of the link type\n got %d\nwant %d", got, want)
	}
	var frames [][]byte
	for i := 0; ; i++ {
		data, info, err := r.ReadPacketData()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || i >= len(c.Packets) {
			t.Fatalf("packet %d of %d: error %v", i, len(c.Packets), err)
		}
		p := c.Packets[i]
		want := p.Frame[:min(len(p.Frame), int(c.Format.SnapLen))]
		if !bytes.Equal(data, want) || info.Length != len(p.Frame) {
			t.Errorf("packet %d\n got %d bytes % x\nwant %d bytes % x", i, info.Length, data, len(p.Frame), want)
		}
		nanos := p.Nanos
		if !c.Format.Nano {
			nanos -= nanos % 1000
		}
		if got := info.Timestamp.UnixNano(); got != nanos {
			t.Errorf("time of packet %d\n got %d\nwant %d", i, got, nanos)
		}
		frames = append(frames, data)
	}
	if len(frames) != len(c.Packets) {
		t.Errorf("packets\n got %d\nwant %d", len(frames), len(c.Packets))
	}
	return frames
}

// joiner puts IP fragments together, simply: well-formed ones of one datagram
// at a time, in any order, repeated or not.
type joiner struct {
	segment []byte
	have    map[uint32]bool
	id      uint32
	total   int
}

// add returns a UDP payload when the IP packet completes one.
func (j *joiner) add(t *testing.T, ip []byte) ([]byte, bool) {
	t.Helper()
	body, id, off, more := ipBody(t, ip)
	if off == 0 && !more {
		return body[udpHeaderLen:], true
	}
	if j.have == nil || j.id != id {
		*j = joiner{have: map[uint32]bool{}, id: id, total: -1}
	}
	if end := int(off) + len(body); end > len(j.segment) {
		j.segment = append(j.segment, make([]byte, end-len(j.segment))...)
	}
	copy(j.segment[off:], body)
	for i := range uint32(len(body)) {
		j.have[off+i] = true
	}
	if !more {
		j.total = int(off) + len(body)
	}
	if len(j.have) != j.total {
		return nil, false
	}
	payload := j.segment[udpHeaderLen:]
	*j = joiner{}
	return payload, true
}

func stripLink(t *testing.T, link Link, frame []byte) []byte {
	t.Helper()
	if len(link.Tunnels) > 0 {
		return innermost(t, link, frame)
	}
	switch link.Type {
	case LinkNull:
		return frame[4:]
	case LinkRaw:
		return frame
	case LinkSLL:
		return frame[16:]
	case LinkSLL2:
		return frame[20:]
	}
	n := 14
	for range link.VLANs {
		n += 4
	}
	return frame[n:]
}

// innermost is the last IP packet that gopacket finds in frame, after it has
// found every tunnel around it.
func innermost(t *testing.T, link Link, frame []byte) []byte {
	t.Helper()
	found := map[string]bool{}
	var ip []byte
	nets := 0
	for _, l := range gopacket.NewPacket(frame, layers.LinkType(link.Type), gopacket.NoCopy).Layers() {
		found[strings.ToLower(l.LayerType().String())] = true
		if t := l.LayerType(); t == layers.LayerTypeIPv4 || t == layers.LayerTypeIPv6 {
			nets++
			ip = append(append([]byte{}, l.LayerContents()...), l.LayerPayload()...)
		}
	}
	want := 1
	for _, tunnel := range link.Tunnels {
		name := tunnel.Kind
		if tunnelKinds[name].ends {
			want++
		}
		if name == "erspan" {
			name = "erspan type ii" // gopacket's name
		}
		if name != "ip" && !found[name] {
			t.Fatalf("layers\n got %v\nwant %s among them", found, name)
		}
	}
	if nets != want {
		t.Fatalf("IP headers\n got %d in % x\nwant %d", nets, frame, want)
	}
	return ip
}

func isICMP(ip []byte) bool {
	if ip[0]>>4 == 4 {
		return ip[9] == byte(layers.IPProtocolICMPv4)
	}
	return ip[6] == byte(layers.IPProtocolICMPv6)
}

// ipBody decodes with gopacket, apart from the IPv6 fragment header.
func ipBody(t *testing.T, ip []byte) (body []byte, id, off uint32, more bool) {
	t.Helper()
	if ip[0]>>4 == 4 {
		var h layers.IPv4
		if err := h.DecodeFromBytes(ip, gopacket.NilDecodeFeedback); err != nil {
			t.Fatal(err)
		}
		return h.Payload, uint32(h.Id), uint32(h.FragOffset) * 8, h.Flags&layers.IPv4MoreFragments != 0
	}
	var h layers.IPv6
	if err := h.DecodeFromBytes(ip, gopacket.NilDecodeFeedback); err != nil {
		t.Fatal(err)
	}
	if h.NextHeader != layers.IPProtocolIPv6Fragment {
		return h.Payload, 0, 0, false
	}
	field := binary.BigEndian.Uint16(h.Payload[2:])
	return h.Payload[8:], binary.BigEndian.Uint32(h.Payload[4:]), uint32(field &^ 7), field&1 != 0
}
