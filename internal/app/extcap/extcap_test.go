package extcap

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/internal/pipeline"
	"qsniff/internal/render/text"
	"qsniff/internal/test/protos"
)

// TestPackets: the packets of messages are written once, the parts of a split one before the
// makePacket that completed it, each with its comment and the bytes that it had.
func TestPackets(t *testing.T) {
	const name = "../../../pcapfiles/goldsource/rules-93.pcap"
	in := readAll(t, open(t, name))
	var out bytes.Buffer
	w := file.NewWriter(&out, "pipe", file.WriteOptions{Format: file.Pcapng})
	if err := w.Begin(); err != nil || out.Len() == 0 {
		t.Fatalf("no header at once: %v", err)
	}
	reg := protos.Registry(t)
	tap := NewTap(open(t, name))
	tap.Out = w
	defer tap.Close()
	_, err := pipeline.Run(context.Background(), pipeline.Config{Source: tap, Registry: reg, Jobs: 2, Out: tap,
		Renderer: Renderer{text.NewLine(text.Options{Bare: true})}})
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	r, err := file.NewReader(&out, "pipe")
	if err != nil {
		t.Fatal(err)
	}
	got := readAll(t, r)
	if len(got) != len(in) || tap.Missed() != 0 {
		t.Fatalf("got  %d packets, %d missed\nwant %d, all of messages", len(got), tap.Missed(), len(in))
	}
	for i, p := range got {
		if !bytes.Equal(p.data, in[i].data) || p.nanos != in[i].nanos {
			t.Errorf("packet %d has other bytes or another time", i+1)
		}
		if strings.HasPrefix(p.comment, "part of: reply") != (i == 3) || !strings.Contains(p.comment, "RULES") && i > 2 {
			t.Errorf("packet %d: comment %q", i+1, p.comment)
		}
	}
}

// TestAllocations: packets are kept and written without allocating.
func TestAllocations(t *testing.T) {
	tap := NewTap(nil)
	tap.Out = file.NewWriter(io.Discard, "pipe", file.WriteOptions{Format: file.Pcapng})
	var line []byte
	p := capture.Packet{Link: 1, Data: []byte("data")}
	if n := testing.AllocsPerRun(100, func() {
		first := tap.kept.next
		tap.kept.add(&p)
		tap.kept.add(&p)
		line = append(strconv.AppendUint(line[:0], first, 10), ',')
		line = append(strconv.AppendUint(line, first+1, 10), "\treading\n"...)
		if _, err := tap.Write(line); err != nil || tap.Missed() > 0 {
			t.Fatalf("%v, %d missed", err, tap.Missed())
		}
	}); n > 0 {
		t.Errorf("%g allocations", n)
	}
}

// TestMissed: packets that were evicted before their message was known are lost packets in
// the statistics of the interface.
func TestMissed(t *testing.T) {
	tap := NewTap(oneInterface{})
	var out bytes.Buffer
	tap.Out = file.NewWriter(&out, "pipe", file.WriteOptions{Format: file.Pcapng, Interfaces: tap})
	for range maxPackets + 5 {
		tap.kept.add(&capture.Packet{Link: 1, Data: []byte("x")})
	}
	_, err := tap.Write([]byte("1,2,3,100\treading\n"))
	if err = errors.Join(err, tap.Out.Close()); err != nil {
		t.Fatal(err)
	}
	r, err := file.NewReader(&out, "pipe")
	if err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, r); len(got) != 1 {
		t.Errorf("%d packets", len(got))
	}
	if all := r.Interfaces(); len(all) != 1 || all[0].Dropped != 2+3 {
		t.Errorf("interfaces: %+v, want 2 packets that the kernel dropped and 3 that were missed", all)
	}
}

// oneInterface is a source on an interface whose kernel dropped two packets.
type oneInterface struct{ capture.Source }

func (oneInterface) Interfaces() []capture.Interface {
	return []capture.Interface{{Name: "eth0", Link: 1, Dropped: 2}}
}

type written struct {
	data    []byte
	nanos   int64
	comment string
}

func open(t *testing.T, name string) capture.Source {
	t.Helper()
	r, err := file.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func readAll(t *testing.T, src capture.Source) (all []written) {
	t.Helper()
	for {
		var b capture.Batch
		err := src.Read(&b)
		first := len(all)
		for i := range b.Packets {
			all = append(all, written{bytes.Clone(b.Packets[i].Data), b.Packets[i].Nanos, ""})
		}
		for _, c := range b.Comments {
			all[first+c.At].comment = string(c.Text)
		}
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestKept checks against a list of all packets that what is kept has its bytes, that these
// are the last ones, and that memory bounds them.
func TestKept(t *testing.T) {
	k := newKept()
	rng := rand.New(rand.NewPCG(1, 2))
	var all [][]byte
	for i := range 50_000 {
		n := rng.IntN(1500)
		if i%1000 == 0 {
			n = capture.MaxCaptured
		}
		b := bytes.Repeat([]byte{byte(i)}, n)
		if n < 2000 {
			all = append(all, b)
		} else {
			all = append(all, nil) // large; its first byte tells enough
		}
		k.add(&capture.Packet{Data: b})
		frame := k.first + rng.Uint64N(k.next-k.first)
		p, before := k.take(frame)
		k.at(frame).isWritten = false
		if want := all[frame-1]; before || p == nil || want != nil && !bytes.Equal(p.Data, want) {
			t.Fatalf("frame %d of %d to %d is not what was added", frame, k.first, k.next-1)
		}
	}
	if n := k.next - k.first; k.next != 50_001 || n < 1000 || n > maxPackets {
		t.Errorf("%d packets are kept, the next is %d", n, k.next)
	}
	if p, before := k.take(k.first - 1); p != nil || before {
		t.Error("an evicted packet is there")
	}
	k.take(k.next - 1)
	if _, before := k.take(k.next - 1); !before {
		t.Error("a packet is written twice")
	}
}
