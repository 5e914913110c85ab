package file

import (
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket"
)

func TestZeroCopyReadPacketData(t *testing.T) {
	file, want := randomFile(variants[1], rand.New(rand.NewPCG(1, 2)), 3000, 200)
	cutAt := len(file)
	file = append(file, 0xff)
	r := mustReader(t, file)
	var got []packet
	for {
		data, ci, err := r.ZeroCopyReadPacketData()
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Offset != int64(cutAt) {
				t.Errorf("got  %v\nwant a cut at %d", err, cutAt)
			}
			break
		}
		if ci.CaptureLength != len(data) {
			t.Errorf("got  captured length %d\nwant %d", ci.CaptureLength, len(data))
		}
		got = append(got, packet{uint64(len(got) + 1), ci.Timestamp.UnixNano(), string(data), uint32(ci.Length), r.LinkType()})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%.2000s", diff)
	}
	if _, _, err := r.ZeroCopyReadPacketData(); err != io.EOF {
		t.Errorf("after the damage: got %v\nwant EOF", err)
	}
}

// PacketSource asks again after errors it does not know: it has to come to an
// end.
func TestPacketSourceEnds(t *testing.T) {
	file, want := randomFile(variants[0], rand.New(rand.NewPCG(3, 4)), 5, 200)
	source := gopacket.NewPacketSource(copying{mustReader(t, append(file, 0xff))}, gopacket.DecodePayload)
	n := 0
	for range source.Packets() {
		n++
	}
	if n != len(want) {
		t.Errorf("got  %d packets\nwant %d", n, len(want))
	}
}

// copying makes a gopacket.PacketDataSource of a zero-copy one.
type copying struct {
	in gopacket.ZeroCopyPacketDataSource
}

func (c copying) ReadPacketData() ([]byte, gopacket.CaptureInfo, error) {
	data, ci, err := c.in.ZeroCopyReadPacketData()
	return append([]byte(nil), data...), ci, err
}
