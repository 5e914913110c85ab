package file

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"qsniff/capture"
)

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
