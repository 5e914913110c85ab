package file

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/capture"
)

// boundsOf returns where each record begins, and where the last one ends.
func boundsOf(want []packet, header, recordHeader int) []int {
	ends := []int{header}
	for _, p := range want {
		ends = append(ends, ends[len(ends)-1]+recordHeader+len(p.Data))
	}
	return ends
}

// steady makes a pcap of n records of 40 to 139 bytes, and says where they begin
// and end.
func steady(v variant, rng *rand.Rand, n int) (file []byte, want []packet, bounds []int) {
	file = v.header(4, capture.MaxCaptured, 1)
	for i := range n {
		data := make([]byte, 40+rng.IntN(100))
		for j := range data {
			data[j] = byte(rng.Uint32())
		}
		sec, frac := 1_700_000_000+uint32(i)/10, uint32(i%10)*1000
		file = v.record(file, sec, frac, uint32(len(data)), uint32(len(data)), data)
		want = append(want, packet{uint64(i + 1), int64(sec)*1e9 + int64(frac)*v.fraction, string(data), uint32(len(data)), 1})
	}
	return file, want, boundsOf(want, fileHeaderLen, recordHeaderLen)
}

// without returns the packets of want but for those from i up to j, with the
// numbers a reader gives them.
func without(want []packet, i, j int) []packet {
	var out []packet
	for k, p := range want {
		if k < i || k >= j {
			p.No = uint64(len(out) + 1)
			out = append(out, p)
		}
	}
	return out
}

// Damage to one record costs that record and perhaps the one before it, says
// where it is, and brings no packet that was not there.
func TestResync(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	const at = 500 // the record that is damaged
	tests := []struct {
		name   string
		damage func(file []byte, v variant, bounds []int) []byte
		lost   [2]int // records
		offset int    // record at which the gap begins
	}{
		{"hole of zeros over whole records", func(f []byte, v variant, b []int) []byte {
			clear(f[b[at]:b[at+20]])
			return f
		}, [2]int{at, at + 20}, at},
		{"hole of zeros across borders", func(f []byte, v variant, b []int) []byte {
			clear(f[b[at]+30 : b[at+20]+30])
			return f
		}, [2]int{at, 0}, at + 1},
		{"page of zeros", func(f []byte, v variant, b []int) []byte {
			clear(f[b[at]+7 : b[at]+7+4096])
			return f
		}, [2]int{at, 0}, at},
		{"captured length absurd", func(f []byte, v variant, b []int) []byte {
			v.order.AppendUint32(f[:b[at]+8], 1<<31)
			return f
		}, [2]int{at, at + 1}, at},
		{"captured length above the wire length", func(f []byte, v variant, b []int) []byte {
			v.order.AppendUint32(f[:b[at]+8], 1000)
			return f
		}, [2]int{at, at + 1}, at},
		{"captured length far beyond the end", func(f []byte, v variant, b []int) []byte {
			v.order.AppendUint32(f[:b[at]+8], capture.MaxCaptured)
			return f
		}, [2]int{at, at + 1}, at},
		{"captured length below the wire length", func(f []byte, v variant, b []int) []byte {
			v.order.AppendUint32(f[:b[at]+8], 17)
			return f
		}, [2]int{at, at + 1}, at},
		{"bytes missing", func(f []byte, v variant, b []int) []byte {
			return slices.Delete(f, b[at]+20, b[at+3]+20)
		}, [2]int{at, 0}, at},
		{"foreign bytes between records", func(f []byte, v variant, b []int) []byte {
			return slices.Insert(f, b[at], bytes.Repeat([]byte{0xff}, 10_001)...)
		}, [2]int{at, at}, at},
	}
	for _, v := range variants {
		for _, tt := range tests {
			t.Run(v.name+"/"+tt.name, func(t *testing.T) {
				file, want, bounds := steady(v, rng, 1000)
				offset := int64(bounds[tt.offset])
				file = tt.damage(file, v, bounds)
				got, gaps, err := drainGaps(t, mustReader(t, file))
				if len(gaps) == 0 || gaps[0].Offset > int64(bounds[tt.offset+1]) || gaps[0].Offset < int64(bounds[at-1]) || gaps[0].File != "x.pcap" {
					t.Errorf("got  %+v\nwant a gap at %d", gaps, offset)
				}
				if !errors.Is(err, ErrGap) {
					t.Errorf("got  %v\nwant ErrGap", err)
				}
				checkSubset(t, want, got, gaps)
				if tt.lost[1] > 0 && cmp.Diff(without(want, tt.lost[0], tt.lost[1]), got) != "" {
					t.Errorf("got  %d packets\nwant all but %d to %d", len(got), tt.lost[0], tt.lost[1])
				}
				if len(got) < len(want)-60 {
					t.Errorf("got  %d packets\nwant about %d", len(got), len(want))
				}
			})
		}
	}
}

// checkSubset checks that got are packets of want in their order, all but the
// last before a gap with all their bytes, and with a gap wherever some miss.
func checkSubset(t *testing.T, want, got []packet, gaps []capture.Gap) {
	t.Helper()
	k := 0
	for i, p := range got {
		start := k
		for k < len(want) && (want[k].Nanos != p.Nanos || want[k].Data != p.Data) {
			if want[k].Nanos == p.Nanos && len(want[k].Data) == len(p.Data) { // damaged in its data
				break
			}
			k++
		}
		if k == len(want) {
			t.Fatalf("packet %d was not in the file: %+v %+v %+v", i+1, p, want[i], gaps)
		}
		gap := slices.ContainsFunc(gaps, func(g capture.Gap) bool { return g.At == i })
		if k != start && !gap {
			t.Errorf("packet %d: %d missing before it without a gap", i+1, k-start)
		}
		k++
	}
}

// A bit flipped anywhere loses few packets and makes none up.
func TestResyncBitFlips(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	v := variants[0]
	file, want, bounds := steady(v, rng, 300)
	for range 2000 {
		i := rng.IntN(len(want) - 10)
		bit := rng.IntN(8 * 8) // of one of the two lengths
		pos := bounds[i] + 8 + bit/8
		damaged := append([]byte(nil), file...)
		damaged[pos] ^= 1 << (bit % 8)
		got, gaps, _ := drainGaps(t, mustReader(t, damaged))
		if len(got) < len(want)-2 {
			t.Fatalf("byte %d of the header of record %d, bit %d: got  %d packets, %+v\nwant at least %d",
				8+bit/8, i, bit%8, len(got), gaps, len(want)-2)
		}
		checkSubset(t, want, got, gaps)
	}
}

// A capture inside a packet is not taken for records of this one.
func TestResyncInnerCapture(t *testing.T) {
	v := variants[0]
	inner, _, _ := steady(v, rand.New(rand.NewPCG(1, 2)), 10)
	file := v.header(4, capture.MaxCaptured, 1)
	const later = 1_700_000_000 + 30*24*60*60 // than the inner one
	for i := range uint32(20) {
		file = v.record(file, later+i, 0, 100, 100, make([]byte, 100))
	}
	file = v.record(file, later, 0, 1<<31, uint32(len(inner)), inner)
	for i := range uint32(20) {
		file = v.record(file, later+i, 0, 100, 100, bytes.Repeat([]byte{1}, 100))
	}
	got, gaps, _ := drainGaps(t, mustReader(t, file))
	if len(got) != 40 || len(gaps) != 1 || gaps[0].Skipped != int64(recordHeaderLen+len(inner)) {
		t.Errorf("got  %d packets, %+v\nwant 40 and one gap", len(got), gaps)
	}
}

// Beyond the bound nothing is looked for, and what precedes stays.
func TestResyncBound(t *testing.T) {
	v := variants[0]
	for _, tt := range []struct {
		name string
		hole int64
		want int
	}{{"inside", maxSearch - 4096, 40}, {"beyond", maxSearch + 4096, 20}} {
		file, _, bounds := steady(v, rand.New(rand.NewPCG(1, 2)), 40)
		in := io.MultiReader(bytes.NewReader(file[:bounds[20]]), io.LimitReader(zeros{}, tt.hole), bytes.NewReader(file[bounds[20]:]))
		r, err := NewReader(in, "x.pcap")
		if err != nil {
			t.Fatal(err)
		}
		got, gaps, err := drainGaps(t, r)
		if len(got) != tt.want || errors.Is(err, ErrGap) != (tt.want == 40) {
			t.Errorf("%s: got  %d packets, %v, %+v\nwant %d", tt.name, len(got), err, gaps, tt.want)
		}
	}
}

// zeros is an input without end.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// Damaged pcapng: what is cut out or overwritten is missing, and nothing else
// but blocks that it touches.
func TestResyncNg(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	for range 300 {
		w := startNg(orders[rng.IntN(2)].order)
		var want []packet
		for i := range 200 {
			data := make([]byte, 40+rng.IntN(100))
			for j := range data {
				data[j] = byte(rng.Uint32())
			}
			nanos := int64(1_700_000_000_000_000_000) + int64(i)
			w.enhanced(0, uint64(nanos), uint32(len(data)), string(data))
			want = append(want, packet{uint64(i + 1), nanos, string(data), uint32(len(data)), 1})
		}
		at := 1000 + rng.IntN(10_000)
		file := w.b
		lost := 3
		switch rng.IntN(4) {
		case 0:
			n := rng.IntN(3000)
			clear(file[at : at+n])
			lost += n/90 + 1
		case 1:
			n := rng.IntN(3000)
			file = slices.Delete(file, at, at+n)
			lost += n/90 + 1
		case 2:
			file[at] ^= 1 << rng.IntN(8)
		case 3:
			file = slices.Insert(file, at, bytes.Repeat([]byte{byte(rng.Uint32())}, rng.IntN(3000))...)
		}
		got, gaps, err := drainGaps(t, mustReader(t, file))
		if len(got) < len(want)-lost {
			t.Fatalf("got  %d packets, %+v, %v\nwant at least %d", len(got), gaps, err, len(want)-lost)
		}
		checkSubsetNg(t, want, got)
	}
}

// checkSubsetNg checks that all packets but one are of want, in their order.
// Damage within one block that leaves its lengths alone cannot be noticed, because
// pcapng has no second copy of anything else.
func checkSubsetNg(t *testing.T, want, got []packet) {
	t.Helper()
	k, changed := 0, 0
	for i, p := range got {
		at := k
		for at < len(want) && (want[at].Nanos != p.Nanos || want[at].Data != p.Data) {
			at++
		}
		if at < len(want) {
			k = at + 1
		} else if changed++; changed > 1 {
			t.Fatalf("packet %d was not in the file: %+v", i+1, p)
		}
	}
}
