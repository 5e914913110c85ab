package capture

import (
	"errors"
	"io"
	"testing"

	"github.com/google/gopacket"
)

// scripted delivers batches of packets, and an error with the last.
type scripted struct {
	batches [][]Packet
	err     error
}

func (s *scripted) Read(b *Batch) error {
	b.Reset()
	if len(s.batches) == 0 {
		return s.err
	}
	b.Packets = append(b.Packets, s.batches[0]...)
	if s.batches = s.batches[1:]; len(s.batches) == 0 {
		return s.err
	}
	return nil
}

func (s *scripted) Stats() Stats { return Stats{} }
func (s *scripted) Close() error { return nil }

// TestPacketData: every packet is returned, also those that come with the error and after
// a batch without any; the error once, then io.EOF.
func TestPacketData(t *testing.T) {
	broken := errors.New("malformed")
	d := NewPacketData(&scripted{err: broken, batches: [][]Packet{
		{{Nanos: 1_000_000_002, Data: []byte("ab"), Wire: 60, Link: 276, Iface: 3}}, {}, {{Data: []byte("c")}, {Data: []byte("d")}},
	}})
	data, ci, err := d.ReadPacketData()
	if string(data) != "ab" || ci.CaptureLength != 2 || ci.Length != 60 || ci.InterfaceIndex != 3 || ci.Timestamp.UnixNano() != 1_000_000_002 || err != nil {
		t.Errorf("got  %q, %+v, %v", data, ci, err)
	}
	if got := d.LinkType(); got != 276 {
		t.Errorf("link type\ngot  %d\nwant 276", got)
	}
	for _, want := range []struct {
		data string
		err  error
	}{{"c", nil}, {"d", nil}, {"", broken}, {"", io.EOF}, {"", io.EOF}} {
		if again, _, err := d.ZeroCopyReadPacketData(); string(again) != want.data || err != want.err {
			t.Errorf("got  %q, %v\nwant %q, %v", again, err, want.data, want.err)
		}
	}
	if string(data) != "ab" {
		t.Errorf("ReadPacketData's bytes became %q", data)
	}
}

// TestPacketSourceEnds: gopacket.PacketSource asks again after errors that it does not
// know, and comes to an end all the same.
func TestPacketSourceEnds(t *testing.T) {
	source := gopacket.NewPacketSource(NewPacketData(&scripted{err: errors.New("malformed"), batches: [][]Packet{{{Data: []byte("a")}, {Data: []byte("b")}}}}),
		gopacket.DecodePayload)
	n := 0
	for range source.Packets() {
		n++
	}
	if n != 2 {
		t.Errorf("got  %d packets\nwant 2", n)
	}
}
