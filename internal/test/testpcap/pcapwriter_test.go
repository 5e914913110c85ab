package testpcap

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
)

func write(t *testing.T, f Format, frames ...[]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, f)
	if err != nil {
		t.Fatal(err)
	}
	for i, frame := range frames {
		if err := w.WritePacket(Start+int64(i)*1_500_001_234, frame); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// TestWriterAgainstPcapgo compares with gopacket's writer where it can follow:
// little-endian, link types below 256.
func TestWriterAgainstPcapgo(t *testing.T) {
	for _, nano := range []bool{false, true} {
		var want bytes.Buffer
		w := pcapgo.NewWriter(&want)
		if nano {
			w = pcapgo.NewWriterNanos(&want)
		}
		if err := w.WriteFileHeader(1000, layers.LinkTypeEthernet); err != nil {
			t.Fatal(err)
		}
		frames := [][]byte{counting(60), counting(1500), {}}
		for i, frame := range frames {
			kept := frame[:min(len(frame), 1000)]
			info := gopacket.CaptureInfo{
				Timestamp:     time.Unix(0, Start+int64(i)*1_500_001_234),
				CaptureLength: len(kept),
				Length:        len(frame),
			}
			if err := w.WritePacket(info, kept); err != nil {
				t.Fatal(err)
			}
		}
		got := write(t, Format{Link: LinkEthernet, SnapLen: 1000, Nano: nano}, frames...)
		if !bytes.Equal(got, want.Bytes()) {
			t.Errorf("nano %v\n got % x\nwant % x", nano, got, want.Bytes())
		}
	}
}

func TestWriterForms(t *testing.T) {
	const record = "6553f100 00000000 00000002 00000003"
	tests := []struct {
		name string
		in   Format
		want string
	}{
		{"big-endian", Format{Link: LinkRaw, SnapLen: 2, BigEndian: true},
			"a1b2c3d4 0002 0004 00*8 00000002 00000065" + record + "aabb"},
		{"big-endian nano", Format{Link: LinkRaw, SnapLen: 2, BigEndian: true, Nano: true},
			"a1b23c4d 0002 0004 00*8 00000002 00000065" + record + "aabb"},
		{"link type of 16 bits", Format{Link: LinkSLL2, SnapLen: 2},
			"d4c3b2a1 0200 0400 00*8 02000000 14010000 00f15365 00000000 02000000 03000000 aabb"},
	}
	for _, test := range tests {
		got := write(t, test.in, []byte{0xaa, 0xbb, 0xcc})
		if want := unhex(t, test.want); !bytes.Equal(got, want) {
			t.Errorf("%s\n got % x\nwant % x", test.name, got, want)
		}
	}
}
