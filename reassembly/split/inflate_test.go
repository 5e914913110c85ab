package split_test

import (
	"bytes"
	stdbzip2 "compress/bzip2"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dsnet/compress/bzip2"
	"github.com/google/go-cmp/cmp"

	"qsniff/internal/test/race"
	"qsniff/internal/test/timing"
	"qsniff/reassembly/split"
	"qsniff/reassembly/wire"
)

// packed is a compressed message of one part as the old engines send it.
func packed(id uint32, prefix, stream []byte) []byte {
	return slices.Concat(header(wire.SourceOld, id|wire.Compressed, 1, 0, 0), prefix, stream)
}

func TestCompressed(t *testing.T) {
	msg := message(2000)
	stream := pack(t, msg, 9)
	hit := func(b []byte, at int) []byte {
		b = slices.Clone(b)
		b[at] ^= 0x10
		return b
	}
	zeros := make([]byte, 70_000)
	tests := []struct {
		name    string
		in      []byte
		outcome split.Outcome
		want    []string
	}{
		{"sound", packed(1, prefixOf(msg), stream), split.Complete, nil},
		{"without size and CRC", packed(1, nil, stream), split.Complete, nil},
		{"empty", packed(1, prefixOf(nil), pack(t, nil, 9)), split.Complete, nil},
		{"bytes after the stream", packed(1, prefixOf(msg), append(stream[:len(stream):len(stream)], "rubbish"...)), split.Complete,
			[]string{"SPL-06 note: length and CRC-32 are right, but the bzip2 stream ends badly or bytes follow it"}},
		{"wrong CRC", packed(1, prefix(2000, 0x1234), stream), split.BadBzip2,
			[]string{"SPL-06 error: decompressed bytes have CRC-32 " + hex8(crc32.ChecksumIEEE(msg)) + ", bytes 4 to 7 after the split header say 00001234; the stream's own checksum is right"}},
		{"declares too little", packed(1, prefix(1999, 0), stream), split.BadBzip2,
			[]string{"SPL-06 error: 2000 decompressed bytes, bytes 0 to 3 after the split header declare 1999; the stream's own checksum is right"}},
		{"declares too much", packed(1, prefix(2001, 0), stream), split.BadBzip2,
			[]string{"SPL-06 error: 2000 decompressed bytes, bytes 0 to 3 after the split header declare 2001; the stream's own checksum is right"}},
		{"declares little, and more than the limit comes out", packed(1, prefix(38, 0), pack(t, zeros, 9)), split.BadBzip2,
			[]string{"SPL-06 error: more than the 38 bytes come out of the bzip2 stream that the header declares"}},
		{"a randomised block", packed(1, prefixOf(msg), randomise(stream)), split.Unsupported,
			[]string{"SPL-11 note: randomised bzip2 block, which libbz2 decodes and qsniff does not"}},
		{"a bit flipped in the block", packed(1, prefixOf(msg), hit(stream, 100)), split.BadBzip2, nil},
		{"a bit flipped in the stream's own CRC", packed(1, prefixOf(msg), hit(stream, len(stream)-2)), split.Complete,
			[]string{"SPL-06 note: length and CRC-32 are right, but the bzip2 stream ends badly or bytes follow it"}},
		{"cut short", packed(1, prefixOf(msg), stream[:len(stream)/2]), split.BadBzip2,
			[]string{"SPL-06 error: bzip2 stream broken: 0 bytes came out, the header declares 2000"}},
		{"declares more than the limit", packed(1, prefix(1<<30, 0), stream), split.TooLarge,
			[]string{"SPL-08 error: declares, in bytes 0 to 3 after the split header, 1073741824 bytes decompressed, above the limit of 65536"}},
		{"is more than the limit", packed(1, nil, pack(t, zeros, 9)), split.TooLarge,
			[]string{"SPL-08 error: decompresses to more than the limit of 65536 bytes"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(split.Limits{})
			b.add(tt.in)
			if len(b.got) != 1 {
				t.Fatalf("sets\n got %d\nwant 1", len(b.got))
			}
			s := b.got[0]
			verify(t, &s.Set, defaults)
			if s.Outcome != tt.outcome || !s.Compressed {
				t.Errorf("outcome, compressed\n got %v, %v\nwant %v, true", s.Outcome, s.Compressed, tt.outcome)
			}
			if !bytes.Equal(s.Joined, tt.in[10:]) {
				t.Errorf("Joined is not what was sent\n got %x\nwant %x", s.Joined, tt.in[10:])
			}
			if isShown := strings.Contains(strings.Join(tt.want, ""), "checksum is right"); s.Outcome != split.Complete && isShown != (s.Run > 0) {
				t.Errorf("Run\n got %d\nwant more than 0: %t", s.Run, isShown)
			} else if isShown && (!s.IsSound || !bytes.Equal(s.Data, msg)) {
				t.Errorf("what came out, sound %t\n got %x\nwant %x", s.IsSound, s.Data, msg)
			}
			if tt.want == nil && tt.outcome != split.Complete {
				if len(s.Findings) != 1 || s.Expert[0].Code != split.BadStream {
					t.Errorf("findings\n got %q\nwant one SPL-06", s.Findings)
				}
			} else if diff := cmp.Diff(tt.want, s.Findings); diff != "" {
				t.Errorf("findings (-want +got)\n%s", diff)
			}
		})
	}
}

// randomise sets the bit of a stream's first block that says that it is randomised.
func randomise(stream []byte) []byte {
	stream = slices.Clone(stream)
	stream[len("BZh91AY&SY")+4] |= 0x80
	return stream
}

func hex8(v uint32) string {
	const digits = "0123456789abcdef"
	var b [8]byte
	for i := range b {
		b[i] = digits[v>>(28-4*i)&15]
	}
	return string(b[:])
}

// TestNoStream waits for parts whose id says compressed and whose first part
// holds no stream.
func TestNoStream(t *testing.T) {
	b := newBench(split.Limits{})
	b.add(packed(1, prefix(20, 0), []byte("no bzip2 stream at all")))
	b.Tick(b.now + wait)
	if len(b.got) != 1 || b.got[0].Outcome != split.BadBzip2 || b.got[0].Run != 0 {
		t.Fatalf("sets\n got %+v\nwant one, bad bzip2", b.summaries())
	}
	if last := b.got[0].Findings[len(b.got[0].Findings)-1]; last != "SPL-06 error: marked as compressed, but there is no bzip2 stream" {
		t.Errorf("finding\n got %q", last)
	}
}

// TestIncompleteCompressed loses a part: nothing can be decompressed.
func TestIncompleteCompressed(t *testing.T) {
	msg := message(3000)
	body := append(prefixOf(msg), pack(t, msg, 1)...)
	parts := cut(wire.SourceOld, 9|wire.Compressed, body, 100)
	b := newBench(split.Limits{})
	for n, p := range parts {
		if n != 1 {
			b.add(p)
		}
	}
	b.Tick(b.now + wait)
	if len(b.got) != 1 {
		t.Fatalf("sets\n got %d\nwant 1", len(b.got))
	}
	s := b.got[0]
	verify(t, &s.Set, defaults)
	if s.Outcome != split.Incomplete || s.Run != 0 || s.Declared != 3000 || s.Prefix != 8 || len(s.Joined) != len(body)-100 {
		t.Errorf("set\n got %v, Run %d, declared %d, prefix %d, %d bytes\nwant incomplete, 0, 3000, 8, %d bytes",
			s.Outcome, s.Run, s.Declared, s.Prefix, len(s.Joined), len(body)-100)
	}
}

// bomb is a stream of a few hundred bytes that holds 512 MiB of zeros.
func bomb(t testing.TB) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := bzip2.NewWriter(&buf, &bzip2.WriterConfig{Level: 9})
	if err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, 1<<20)
	size := 512 // MiB
	if testing.Short() {
		size = 32
	}
	for range size {
		if _, err := w.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestBomb(t *testing.T) {
	if race.Enabled {
		t.Skip("measures time and memory")
	}
	stream := bomb(t)
	if len(stream) > 1200 {
		t.Fatalf("the bomb has %d bytes: it does not fit a datagram", len(stream))
	}
	for _, tt := range []struct {
		name   string
		prefix []byte
	}{
		{"declares 512 MiB", prefix(512<<20, 0)},
		{"declares 38 bytes", prefix(38, 0)},
		{"declares all that is allowed", prefix(split.DefaultInflated, 0)},
		{"declares nothing", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(split.Limits{})
			b.Deliver = func(s *split.Set) {
				if s.Outcome != split.TooLarge && s.Outcome != split.BadBzip2 {
					t.Errorf("outcome\n got %v\nwant too large or bad bzip2", s.Outcome)
				}
			}
			in := packed(1, tt.prefix, stream)
			var before, after runtime.MemStats
			b.add(in)
			runtime.GC()
			runtime.ReadMemStats(&before)
			best := time.Hour
			for id := range uint32(20) {
				b.now += second
				in[4] = byte(id + 2)
				best = min(best, timing.MeasureCPU(func() { b.add(in) }))
			}
			runtime.ReadMemStats(&after)
			if limit := time.Millisecond; best > limit {
				t.Errorf("time to refuse\n got %v\nwant at most %v", best, limit)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > 200<<10 {
				t.Errorf("bytes allocated for 20 more\n got %d\nwant at most 200 KiB", got)
			}
		})
	}
	noise := make([]byte, 60_000) // fills the decoder's tables as far as the limit lets it
	r := rand.New(rand.NewPCG(1, 1))
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	for name, body := range map[string][]byte{
		"bomb":  append(prefix(38, 0), stream...),
		"noise": append(prefix(60_000, 1), pack(t, noise, 9)...),
	} {
		t.Run("memory retained after "+name, func(t *testing.T) {
			var before, after runtime.MemStats
			b := newBench(split.Limits{})
			b.Deliver = func(*split.Set) {}
			parts := cut(wire.SourceOld, 1|wire.Compressed, body, 40_000)
			b.add(cut(wire.SourceOld, 2, noise, 1200)[0]) // takes the memory for sets
			runtime.GC()
			runtime.ReadMemStats(&before)
			for _, p := range parts {
				b.add(p)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			if got := int64(after.HeapAlloc) - int64(before.HeapAlloc); got > 1<<20 {
				t.Errorf("bytes retained\n got %d\nwant at most 1 MiB", got)
			}
			if b.Counters.BadBzip2 != 1 {
				t.Errorf("bad bzip2\n got %d\nwant 1", b.Counters.BadBzip2)
			}
			runtime.KeepAlive(b)
		})
	}
}

// TestBudget sends more compressed messages in a second than are decompressed.
func TestBudget(t *testing.T) {
	msg := message(1000)
	good, bad := packed(0, prefixOf(msg), pack(t, msg, 9)), packed(0, prefix(1000, 1), pack(t, msg, 9))
	// count is how many of n messages were tried within one second.
	count := func(b *bench, in []byte, n int) int {
		before := b.Counters.Inflations
		for id := range n {
			in[4], in[5] = byte(id), byte(id>>8)
			b.Add(&split.Datagram{Src: server, Dst: client, Data: in, Wire: len(in), Frame: 1, Nanos: b.now})
		}
		return int(b.Counters.Inflations - before)
	}
	b := newBench(split.Limits{})
	sound := count(b, good, 3000)
	if sound < 500 || sound == 3000 {
		t.Errorf("sound messages tried in a second\n got %d\nwant some hundreds, not all", sound)
	}
	if b.Counters.Refused != 3000-uint64(sound) {
		t.Errorf("Refused\n got %d\nwant %d", b.Counters.Refused, 3000-sound)
	}
	last := b.got[len(b.got)-1]
	if diff := cmp.Diff([]string{"SPL-08 note: not decompressed: the work allowed for one second is spent"}, last.Findings); diff != "" || last.Outcome != split.Refused {
		t.Errorf("last set: %v, findings (-want +got)\n%s", last.Outcome, diff)
	}
	b.now += second
	failed := count(b, bad, 3000)
	if failed == 0 || failed > sound/2 {
		t.Errorf("broken messages tried in the next second\n got %d\nwant fewer than half of %d", failed, sound)
	}
	b.now += second
	for n := range 100 {
		src := server
		addr := src.Addr().As4()
		addr[2], addr[3] = byte(n), 77
		in := packed(uint32(n), prefix(1000, 1), pack(t, msg, 9))
		for range 10 {
			b.Add(&split.Datagram{Src: addrPort(addr, 27015), Dst: client, Data: in, Wire: len(in), Frame: 1, Nanos: b.now})
		}
	}
	if b.Counters.Inflations > uint64(sound+4*failed) {
		t.Errorf("tried for many sources in one second\n got %d\nwant at most twice %d", b.Counters.Inflations, failed)
	}
}

// FuzzInflate holds the decompression against compress/bzip2.
func FuzzInflate(f *testing.F) {
	for _, n := range []int{0, 1, 38, 1000, 20_000} {
		for _, level := range []int{1, 9} {
			f.Add(pack(f, message(n), level))
		}
	}
	f.Add(bytes.Join([][]byte{pack(f, message(10), 1), pack(f, message(20), 9)}, nil))
	f.Fuzz(func(t *testing.T, stream []byte) {
		if len(stream) < 10 || len(stream) > 60_000 || !wire.IsBzip2(stream) {
			t.Skip("not a stream that fits a datagram")
		}
		want, err := io.ReadAll(io.LimitReader(stdbzip2.NewReader(bytes.NewReader(stream)), split.DefaultInflated+1))
		fits := len(want) <= split.DefaultInflated
		if !fits {
			want = want[:split.DefaultInflated]
		}
		for _, p := range [][]byte{prefixOf(want), nil} {
			b := newBench(split.Limits{})
			b.add(packed(1, p, stream))
			if len(b.got) != 1 {
				t.Fatalf("sets\n got %d\nwant 1", len(b.got))
			}
			s := &b.got[0].Set
			verify(t, s, defaults)
			if err == nil && fits && (s.Outcome != split.Complete || !bytes.Equal(s.Data, want)) {
				t.Fatalf("compress/bzip2 reads it, prefix of %d bytes\n got %v, %x\nwant complete, %x", len(p), s.Outcome, s.Data, want)
			}
			if s.Outcome == split.Complete && !bytes.Equal(s.Data, want) {
				t.Fatalf("compress/bzip2 says %v, prefix of %d bytes\n got %x\nwant %x", err, len(p), s.Data, want)
			}
		}
	})
}

// TestShareInflater: who shares an inflater needs no memory of its own to decompress, and gets the
// same.
func TestShareInflater(t *testing.T) {
	const most = 32 << 10 // bytes; an inflater of its own takes 112 KiB
	var got []string
	add := func(a *split.Assembler, id byte) (bytes uint64) {
		var before, after runtime.MemStats
		in := packed(1, prefixOf(message(3000)), pack(t, message(3000), 9))
		in[4] = id
		runtime.ReadMemStats(&before)
		a.Add(&split.Datagram{Src: server, Dst: client, Data: in, Wire: len(in), Frame: 1, Nanos: second})
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	newAssembler := func() *split.Assembler {
		a := split.New(split.Limits{})
		a.Deliver = func(s *split.Set) { got = append(got, string(s.Data)) }
		a.Add(&split.Datagram{Src: server, Dst: client, Data: cut(wire.Source, 1, message(6000), 1248)[0], Frame: 1, Nanos: second}) // takes the tables
		return a
	}
	a, b := newAssembler(), newAssembler()
	b.ShareInflater(a)
	if own := add(a, 2); own < 2*most {
		t.Errorf("bytes for an inflater of its own\ngot  %d\nwant at least %d, or this test shows nothing", own, 2*most)
	}
	if shared := add(b, 3); shared > most {
		t.Errorf("bytes to decompress with another's\ngot  %d\nwant at most %d", shared, most)
	}
	if want := string(message(3000)); len(got) != 2 || got[0] != want || got[1] != want {
		t.Errorf("got %d sets, which differ from what was compressed", len(got))
	}
}
