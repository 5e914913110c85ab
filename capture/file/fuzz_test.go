package file

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"qsniff/capture"
)

// FuzzReader checks, besides what drain checks of every batch, that the way in
// which the input hands over its bytes makes no difference, and that what was
// delivered adds up to the file.
func FuzzReader(f *testing.F) {
	for i, v := range variants {
		file, _ := randomFile(v, rand.New(rand.NewPCG(uint64(i), 1)), 20, 40)
		f.Add(file, uint64(i))
		f.Add(file[:len(file)-3], uint64(i))
		f.Add(v.record(file, 0, 0, capture.MaxCaptured+1, 0, nil), uint64(i))
	}
	f.Add(variants[0].record(variants[0].header(3, 1<<32-1, 1<<32-1), 1, 1<<32-1, 9, 2, []byte("abcd")), uint64(0))
	f.Add([]byte("\x0a\x0d\x0d\x0a"), uint64(0))
	f.Add([]byte("<html>"), uint64(0))
	f.Fuzz(func(t *testing.T, file []byte, seed uint64) {
		read := func(in io.Reader) ([]packet, error) {
			r, err := NewReader(in, "x.pcap")
			if err != nil {
				return nil, err
			}
			all, err := drain(t, r)
			if !r.isPcapng && r.packed == nil {
				checkSum(t, r, all, file, err)
			}
			return all, err
		}
		atOnce, err := read(bytes.NewReader(file))
		rng := rand.New(rand.NewPCG(seed, 0))
		top := 1 + int(seed%300)
		inPieces, err2 := read(&shortReader{bytes.NewReader(file), func() int { return 1 + rng.IntN(top) }})
		if diff := cmp.Diff(atOnce, inPieces); diff != "" {
			t.Errorf("(-at once +in pieces):\n%s", diff)
		}
		// What kind of foreign file it is may depend on how much has arrived.
		var e *Error
		if errors.As(err, &e) && e.Offset == wholeFile && len(file) > 0 {
			return
		}
		if err.Error() != err2.Error() {
			t.Errorf("at once    %v\nin pieces  %v", err, err2)
		}
	})
}

// checkSum checks that packets and gaps account for every byte up to the end or
// the damage that ended it.
func checkSum(t *testing.T, r *Reader, all []packet, file []byte, err error) {
	t.Helper()
	stats := r.Stats()
	sum := int64(r.format.headerLen) + stats.Skipped
	for _, p := range all {
		sum += int64(r.format.recordLen) + int64(len(p.Data))
	}
	var e *Error
	switch {
	case err == io.EOF, errors.Is(err, ErrGap):
		if sum != int64(len(file)) || stats.Bytes != sum || (stats.Gaps > 0) != (err != io.EOF) {
			t.Errorf("got  %v after byte %d, %+v\nwant %d", err, sum, stats, len(file))
		}
	case !errors.As(err, &e) || e.Offset != sum || e.Hint == "":
		t.Errorf("got  %#v\nwant damage at byte %d with a hint", err, sum)
	}
	if stats.Received != uint64(len(all)) {
		t.Errorf("got  %d packets received\nwant %d", stats.Received, len(all))
	}
}

// FuzzPcapng checks what drain checks of every batch, that the way in which the
// input hands over its bytes makes no difference, and that memory stays bounded
// whatever the numbers in the file say.
func FuzzPcapng(f *testing.F) {
	for i := range uint64(4) {
		file, _ := randomNg(rand.New(rand.NewPCG(i, 2)), 30, 40)
		f.Add(file, i)
		f.Add(file[:len(file)-5], i)
	}
	w := startNg(orders[1].order)
	w.simple(9, "123456789")
	w.obsolete(0, 1, 5, 60, "abc", text8(optComment, "x"))
	w.iface(101, 5, opt{optTsresol, []byte{0xff}}, w.option64(optTsoffset, 1<<63), text8(optName, "eth0"))
	w.statistics(1, w.option64(optDropped, 1<<63))
	w.enhanced(1, 1<<63, 7, "abcdefg")
	w.enhanced(2, 1<<63, 7, "abcdefg")
	f.Add(w.b, uint64(0))
	f.Add(append(w.b, append(make([]byte, 100), w.b...)...), uint64(7))
	f.Fuzz(func(t *testing.T, file []byte, seed uint64) {
		if !isSection(file) {
			return
		}
		read := func(in io.Reader) ([]packet, []capture.Gap, capture.Stats, error) {
			r, err := NewReader(in, "x.pcapng")
			if err != nil {
				return nil, nil, capture.Stats{}, err
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			all, gaps, err := drainGaps(t, r)
			runtime.ReadMemStats(&after)
			if took, most := after.TotalAlloc-before.TotalAlloc, uint64(8<<20+100*len(file)); took > most {
				t.Errorf("got  %d bytes allocated for %d\nwant at most %d", took, len(file), most)
			}
			if len(r.described.interfaces) > maxDescribed || len(r.described.sections) > maxSections || cap(r.spare) > maxChunk {
				t.Errorf("got  %d interfaces, %d sections, buffer of %d bytes", len(r.described.interfaces), len(r.described.sections), cap(r.spare))
			}
			return all, gaps, r.Stats(), err
		}
		packets, gaps, stats, err := read(bytes.NewReader(file))
		rng := rand.New(rand.NewPCG(seed, 0))
		top := 1 + int(seed%300)
		packets2, gaps2, stats2, err2 := read(&shortReader{bytes.NewReader(file), func() int { return 1 + rng.IntN(top) }})
		if diff := cmp.Diff(packets, packets2); diff != "" {
			t.Errorf("(-at once +in pieces):\n%s", diff)
		}
		if stats.Skipped != stats2.Skipped || len(gaps) > 0 != (len(gaps2) > 0) || errors.Is(err, ErrGap) != (stats.Gaps > 0 && errors.Is(err2, ErrGap)) {
			t.Errorf("at once    %+v, %v\nin pieces  %+v, %v", stats, err, stats2, err2)
		}
		checkGapsInFile(t, gaps, stats, len(file))
	})
}

// checkGapsInFile checks that gaps lie within the file, one after the other.
func checkGapsInFile(t *testing.T, gaps []capture.Gap, stats capture.Stats, size int) {
	t.Helper()
	var sum, end int64
	for _, g := range gaps {
		if g.Offset < end || g.Offset+g.Skipped > int64(size) {
			t.Errorf("got  %+v after byte %d in a file of %d bytes", g, end, size)
		}
		end = g.Offset + g.Skipped
		sum += g.Skipped
	}
	if sum != stats.Skipped || len(gaps) != int(stats.Gaps) {
		t.Errorf("got  %d gaps of %d bytes\nwant %d of %d", len(gaps), sum, stats.Gaps, stats.Skipped)
	}
}

// FuzzResync damages a sound file in one place and checks that no packet is made
// up, that all before the damage come, and that the file is accounted for.
func FuzzResync(f *testing.F) {
	f.Add(uint64(1), 500, 20, []byte{0}, true)
	f.Add(uint64(2), 30, 0, []byte("junk that was not there"), true)
	f.Add(uint64(3), 600, 1000, []byte{}, false)
	f.Add(uint64(4), 1500, 4, []byte{0xff, 0xff, 0xff, 0xff}, false)
	f.Fuzz(func(t *testing.T, seed uint64, at, cut int, put []byte, grow bool) {
		v := variants[seed%4]
		file, want, bounds := steady(v, rand.New(rand.NewPCG(seed, 1)), 100)
		if at < fileHeaderLen || at > len(file) || cut < 0 || cut > len(file)-at || len(put) > 10_000 {
			return
		}
		damaged := append([]byte(nil), file[:at]...)
		damaged = append(damaged, put...)
		if rest := at + cut; grow || rest > len(file) {
			damaged = append(damaged, file[min(rest, len(file)):]...)
		} else {
			damaged = append(damaged, file[min(at+max(cut, len(put)), len(file)):]...)
		}
		r := mustReader(t, damaged)
		got, gaps, err := drainGaps(t, r)
		checkSum(t, r, got, damaged, err)
		checkGapsInFile(t, gaps, r.Stats(), len(damaged))
		before := 0 // records before the damage, but for the last, which may be in doubt
		for before+2 < len(bounds) && bounds[before+2] <= at {
			before++
		}
		if len(got) < before {
			t.Fatalf("got  %d packets, %v\nwant at least %d", len(got), err, before)
		}
		if diff := cmp.Diff(want[:before], got[:before], cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("before the damage (-want +got):\n%s", diff)
		}
	})
}
