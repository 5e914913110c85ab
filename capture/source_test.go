package capture

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/google/gopacket"
)

// oneBatch is a source of one batch.
type oneBatch struct{ Batch }

func (s *oneBatch) Read(b *Batch) error {
	*b = s.Batch
	return io.EOF
}
func (s *oneBatch) Stats() Stats { return Stats{Received: uint64(len(s.Packets)), Bytes: 7} }
func (s *oneBatch) Close() error { return nil }

// TestFiltered: packets keep their numbers, comments go with them, and gaps stay between them.
func TestFiltered(t *testing.T) {
	src := &oneBatch{}
	for i := range 6 {
		src.Packets = append(src.Packets, Packet{No: uint64(i + 1)})
	}
	src.Comments = []Comment{{1, []byte("a")}, {2, []byte("b")}, {4, []byte("c")}, {4, []byte("d")}}
	src.Gaps = []Gap{{At: 0}, {At: 3}, {At: 6}}
	f := Filtered(src, func(p *Packet) (bool, error) { return p.No == 2 || p.No == 5, nil })
	var b Batch
	if err := f.Read(&b); err != io.EOF {
		t.Fatal(err)
	}
	got := ""
	for _, p := range b.Packets {
		got += fmt.Sprint("packet ", p.No, " ")
	}
	for _, c := range b.Comments {
		got += fmt.Sprint(string(c.Text), c.At, " ")
	}
	for _, g := range b.Gaps {
		got += fmt.Sprint("gap ", g.At, " ")
	}
	if want := "packet 2 packet 5 a0 c1 d1 gap 0 gap 1 gap 2 "; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if s := f.Stats(); s.Received != 2 || s.Bytes != 7 {
		t.Errorf("%+v", s)
	}
	if f.(Describer).Interfaces() != nil {
		t.Error("interfaces of a source that describes none")
	}
}

// TestFilteredEnds: an error of the filter ends the source, after what was kept before.
func TestFilteredEnds(t *testing.T) {
	wrong := errors.New("wrong")
	f := Filtered(&oneBatch{Batch{Packets: []Packet{{No: 1}, {No: 2}, {No: 3}}}}, func(p *Packet) (bool, error) {
		if p.No == 2 {
			return false, wrong
		}
		return true, nil
	})
	var b Batch
	if err := f.Read(&b); err != wrong || len(b.Packets) != 1 {
		t.Errorf("%v, %d packets", err, len(b.Packets))
	}
}

// TestFilteredInputs: clocks of several inputs can be corrected with a filter, too.
func TestFilteredInputs(t *testing.T) {
	all := Merge(&oneBatch{}, &oneBatch{})
	if _, ok := Filtered(all, nil).(Aligner); !ok {
		t.Error("several inputs cannot be aligned")
	}
	if _, ok := Filtered(&oneBatch{}, nil).(Aligner); ok {
		t.Error("one input can be aligned")
	}
}

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
