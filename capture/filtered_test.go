package capture

import (
	"errors"
	"fmt"
	"io"
	"testing"
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
