package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/dsnet/compress/bzip2"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"

	"qsniff/capture"
	"qsniff/internal/test/race"
)

// compressors make what the packings expand, one stream at a time.
var compressors = []struct {
	name string
	open func(io.Writer) io.WriteCloser
}{
	{"plain", func(w io.Writer) io.WriteCloser { return nopCloser{w} }},
	{"gzip", func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }},
	{"zstd", func(w io.Writer) io.WriteCloser {
		z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
		if err != nil {
			panic(err)
		}
		return z
	}},
	{"lz4", func(w io.Writer) io.WriteCloser { return lz4.NewWriter(w) }},
	{"lz4 legacy", func(w io.Writer) io.WriteCloser {
		z := lz4.NewWriter(w)
		if err := z.Apply(lz4.LegacyOption(true)); err != nil {
			panic(err)
		}
		return z
	}},
	{"bzip2", func(w io.Writer) io.WriteCloser {
		z, err := bzip2.NewWriter(w, nil)
		if err != nil {
			panic(err)
		}
		return z
	}},
	{"xz", func(w io.Writer) io.WriteCloser {
		z, err := xz.NewWriter(w)
		if err != nil {
			panic(err)
		}
		return z
	}},
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func compressed(t testing.TB, open func(io.Writer) io.WriteCloser, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := open(&out)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// container is a way to write the same packets.
type container struct {
	name string
	file []byte
}

// containers holds the packets of want in every format that is read. Times are
// whole microseconds.
func containers(want []packet) []container {
	var all []container
	for _, v := range variants {
		file := v.header(4, 0, 1)
		for _, p := range want {
			file = v.record(file, uint32(p.Nanos/1e9), uint32(p.Nanos%1e9/v.fraction), uint32(len(p.Data)), p.Wire, []byte(p.Data))
		}
		all = append(all, container{"pcap " + v.name, file})
	}
	for _, order := range orders {
		v := variant{order: order.order, magic: magicPatched, fraction: 1000}
		patched, lcap := v.header(4, 0, 1), []byte(nil)
		v.magic = magicLcapHW
		lcap = v.order.AppendUint32(v.header(4, 0, 1), 12345)
		for _, p := range want {
			sec, frac, n := uint32(p.Nanos/1e9), uint32(p.Nanos%1e9/1000), uint32(len(p.Data))
			patched = v.record(patched, sec, frac, n, p.Wire, append([]byte("\x02\x00\x00\x00\x08\x00\x04\x00"), p.Data...))
			lcap = v.record(lcap, sec, frac, n, p.Wire, []byte(p.Data))
		}
		all = append(all, container{"patched pcap " + order.name, patched}, container{"lcap " + order.name, lcap})
		w := startNg(order.order)
		for _, p := range want {
			w.enhanced(0, uint64(p.Nanos), p.Wire, p.Data)
		}
		all = append(all, container{"pcapng " + order.name, w.b})
	}
	return all
}

func somePackets(rng *rand.Rand, n, maxLen int) (want []packet) {
	for i := range n {
		data := make([]byte, rng.IntN(maxLen+1))
		for j := range data {
			data[j] = byte(rng.Uint32() & 3) // compresses
		}
		want = append(want, packet{uint64(i + 1), 1_700_000_000_000_000_000 + int64(i)*1_000_000, string(data), uint32(len(data)) + 2, 1})
	}
	return want
}

// forContainers is how many packets of 100 bytes a test puts into every format with every
// compression: more than what is read at once, and with -short a third of that in test-all.
func forContainers() int {
	if testing.Short() {
		return 1000
	}
	return 3000
}

// Every format, every compression, whole and in small reads, in one stream and
// in several one after another. With -short the four ways of the last two take turns.
func TestContainers(t *testing.T) {
	want := somePackets(rand.New(rand.NewPCG(1, 1)), forContainers(), 200)
	for n, c := range containers(want) {
		for m, z := range compressors {
			t.Run(c.name+"/"+z.name, func(t *testing.T) {
				turn := (n + m) % 4
				for i, at := range []int{0, len(c.file) / 3} {
					if i == 1 && z.name == "lz4 legacy" {
						continue // its streams do not say where they end
					}
					if testing.Short() && i != turn/2 {
						continue
					}
					file := compressed(t, z.open, c.file[at:])
					if i == 1 {
						file = append(compressed(t, z.open, c.file[:at]), file...)
					}
					for k, size := range []int{7, 1 << 30} {
						if testing.Short() && k != turn%2 {
							continue
						}
						r, err := NewReader(&shortReader{bytes.NewReader(file), func() int { return size }}, "x.pcap")
						if err != nil {
							t.Fatal(err)
						}
						got, err := drain(t, r)
						if !reflect.DeepEqual(want, got) || err != io.EOF { // which is quicker than cmp.Diff
							diff := cmp.Diff(want, got)
							t.Fatalf("%d streams, %d bytes a read: error %v, packets (-want +got):\n%.1000s", i+1, size, err, diff)
						}
						if got, want := r.Stats().Bytes, int64(len(file)); got != want {
							t.Errorf("%d streams: got  %d bytes read\nwant %d", i+1, got, want)
						}
					}
				}
			})
		}
	}
}

// A compressed file cut anywhere yields packets in order, and an error that says
// where in the expanded data.
func TestCompressedTruncation(t *testing.T) {
	want := somePackets(rand.New(rand.NewPCG(2, 2)), 40, 50)
	plain := containers(want)[0].file
	bounds := boundsOf(want, fileHeaderLen, recordHeaderLen)
	cuts := 200
	if testing.Short() {
		cuts = 50
	}
	for _, z := range compressors[1:] {
		file := compressed(t, z.open, plain)
		for n := 7; n < len(file); n += 1 + len(file)/cuts {
			r, err := NewReader(bytes.NewReader(file[:n]), "x.pcap")
			var got []packet
			if err == nil {
				got, err = drain(t, r)
			}
			if diff := cmp.Diff(want[:len(got)], append([]packet{}, got...)); diff != "" {
				t.Fatalf("%s cut at %d: packets (-want +got):\n%s", z.name, n, diff)
			}
			if err == io.EOF && len(got) == len(want) || z.name == "lz4 legacy" {
				continue // what is missing is a check sum or an end mark; or nothing marks the end
			}
			var e *Error
			if !errors.As(err, &e) || !e.Expanded && e.Offset >= 0 || len(got) > 0 && e.Offset < int64(bounds[len(got)]) {
				t.Fatalf("%s cut at %d, after %d packets: got  %#v\nwant an error after them", z.name, n, len(got), err)
			}
		}
	}
}

func TestCompressedDamage(t *testing.T) {
	want := somePackets(rand.New(rand.NewPCG(3, 3)), 2000, 200)
	plain := containers(want)[0].file
	for _, z := range compressors[1:] {
		t.Run(z.name, func(t *testing.T) {
			file := compressed(t, z.open, plain)
			clear(file[len(file)/2 : len(file)/2+100])
			r, err := NewReader(bytes.NewReader(file), "x.pcap")
			var got []packet
			if err == nil {
				got, err = drain(t, r)
			}
			if len(got) > len(want) {
				t.Errorf("got  %d packets\nwant at most %d", len(got), len(want))
			}
			var e *Error
			if !errors.As(err, &e) || !e.Expanded || !strings.Contains(err.Error(), " of the expanded data: ") || e.Hint == "" {
				t.Errorf("got  %v\nwant damage in the expanded data", err)
			}
		})
	}
}

func TestCompressedErrors(t *testing.T) {
	text := compressed(t, compressors[1].open, []byte("hello, this is text\n"))
	twice := compressed(t, compressors[2].open, compressed(t, compressors[1].open, text))
	var window bytes.Buffer
	z, err := zstd.NewWriter(&window, zstd.WithWindowSize(2*maxZstdWindow))
	if err != nil {
		t.Fatal(err)
	}
	io.CopyN(z, zeros{}, 4*maxZstdWindow)
	z.Close()
	dictionary := func(size int) string {
		return string(compressed(t, func(w io.Writer) io.WriteCloser {
			z, err := xz.WriterConfig{DictCap: size}.NewWriter(w)
			if err != nil {
				t.Fatal(err)
			}
			return z
		}, []byte("hello, this is text\n")))
	}
	xzHint := "decompress first: xz -dc x.pcap | qsniff -"
	tests := []struct{ name, in, want, hint string }{
		{"largest xz dictionary", dictionary(maxXzDictionary), "x.pcap: text, not a capture", hexDumps},
		{"large xz dictionary", dictionary(2 * maxXzDictionary),
			"x.pcap: byte 0 of the expanded data: xz dictionaries above the limit of 67,108,864 bytes", xzHint},
		{"text", string(text), "x.pcap: text, not a capture", hexDumps},
		{"twice", string(twice), "x.pcap: compressed twice, with gzip in zstd", "decompress first: zstdcat --long=31 x.pcap | qsniff -"},
		{"large window", window.String(), "x.pcap: byte 0 of the expanded data: zstd window above the limit of 33,554,432 bytes",
			"decompress first: zstdcat --long=31 x.pcap | qsniff -"},
		{"nothing in it", string(compressed(t, compressors[1].open, nil)), "x.pcap: empty, not even a file header",
			"nothing was captured, or nothing was written yet: tcpdump -U writes each packet at once"},
		{"cut in the header", "\x1f\x8b\x08", "x.pcap: byte 0 of the expanded data: gzip data cut", hintCut},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := NewReader(strings.NewReader(tt.in), "x.pcap")
			var e *Error
			if !errors.As(err, &e) || err.Error() != tt.want || e.Hint != tt.hint {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

// A bomb of zeros ends at the search bound, and no compression takes more memory
// than its blocks and the chunk.
func TestBombs(t *testing.T) {
	if race.Enabled {
		t.Skip("slow under the race detector")
	}
	const size = 2 * maxSearch
	header := variants[0].header(4, 0, 1)
	for _, z := range compressors[1:] {
		if testing.Short() && z.name != "zstd" && z.name != "lz4 legacy" { // which are the quickest to make
			continue
		}
		var bomb bytes.Buffer
		w := z.open(&bomb)
		w.Write(header)
		plain := struct{ io.Writer }{w} // without ReadFrom, which lz4 refuses after Write
		if _, err := io.CopyN(plain, zeros{}, size); err != nil {
			t.Fatal(err)
		}
		w.Close()
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, err := NewReader(bytes.NewReader(bomb.Bytes()), "x.pcap")
		if err != nil {
			t.Fatal(err)
		}
		got, err := drain(t, r)
		runtime.ReadMemStats(&after)
		if len(got) > 0 || err == io.EOF {
			t.Errorf("%s: got  %d packets, %v\nwant damage", z.name, len(got), err)
		}
		most := uint64(40 << 20)
		if z.name == "lz4 legacy" {
			most = size // a new block of 8 MiB for each, one or two at a time
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > most {
			t.Errorf("%s: got  %d bytes allocated\nwant at most %d", z.name, took, most)
		}
	}
}

// The wrapper gets the expanded bytes and is closed before the file.
func TestReadAheadOption(t *testing.T) {
	want := somePackets(rand.New(rand.NewPCG(4, 4)), 100, 50)
	path := writeFile(t, "x.pcap.gz", compressed(t, compressors[1].open, containers(want)[0].file))
	closed := 0
	r, err := Open(path, ReadAhead(func(in io.Reader) io.ReadCloser { return &closing{in, &closed} }))
	if err != nil {
		t.Fatal(err)
	}
	got, err := drain(t, r)
	if diff := cmp.Diff(want, got); diff != "" || err != io.EOF {
		t.Errorf("error %v, packets (-want +got):\n%s", err, diff)
	}
	if r.Close() != nil || closed != 1 {
		t.Errorf("got  %d times closed\nwant 1", closed)
	}
}

type closing struct {
	io.Reader
	closed *int
}

func (c *closing) Close() error { *c.closed++; return nil }

// FuzzDecompress checks that a compressed stream, whatever it is, takes bounded
// memory, and that what precedes its damage is what was written.
func FuzzDecompress(f *testing.F) {
	want := somePackets(rand.New(rand.NewPCG(5, 5)), 30, 60)
	for _, z := range compressors[1:] {
		for _, c := range containers(want)[:3] {
			f.Add(compressed(f, z.open, c.file))
		}
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		if packingOf(file) == nil {
			return
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, err := NewReader(bytes.NewReader(file), "x.pcap")
		var b capture.Batch
		expanded := int64(0)
		for n := 0; err == nil && n < 10_000; n++ {
			err = r.Read(&b)
			expanded = r.offset
		}
		runtime.ReadMemStats(&after)
		// xz may take its dictionaries, zstd its window in two places; the others less.
		// Errors are small and few.
		if took, most := after.TotalAlloc-before.TotalAlloc, uint64(maxXzDictionaries+xzDictionaryGain*len(file)+24<<20); took > most {
			t.Errorf("got  %d bytes allocated for %d bytes that expand to %d, %v\nwant at most %d", took, len(file), expanded, err, most)
		}
		if err != nil && err != io.EOF {
			var e *Error
			if !errors.As(err, &e) || strings.Contains(e.Reason, "\n") {
				t.Errorf("got  %#v\nwant *Error of one line", err)
			}
		}
	})
}

func BenchmarkContainers(b *testing.B) {
	want := somePackets(rand.New(rand.NewPCG(6, 6)), 100_000, 142) // 71 bytes on average
	all := containers(want)
	for _, c := range []container{all[0], all[6]} {
		for _, z := range compressors {
			file := compressed(b, z.open, c.file)
			var batch capture.Batch
			b.Run(fmt.Sprintf("%s/%s", strings.Fields(c.name)[0], z.name), func(b *testing.B) {
				benchmark(b, func() func() (int, error) {
					r, err := NewReader(bytes.NewReader(file), "x.pcap")
					if err != nil {
						b.Fatal(err)
					}
					return func() (int, error) {
						err := r.Read(&batch)
						return len(batch.Packets), err
					}
				})
			})
		}
	}
}

// TestXzFilters: blocks with a filter beside LZMA2 are refused before the library sees them.
func TestXzFilters(t *testing.T) {
	var out bytes.Buffer
	w, err := xz.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("text")); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	whole := out.Bytes()
	const flags, filter = xzHeaderLen + 1, xzHeaderLen + 2
	for _, tt := range []struct {
		name          string
		flags, filter byte
	}{
		{"delta and LZMA2", 1, 0x03},
		{"x86 and LZMA2", 1, 0x04},
		{"ARM64 and LZMA2", 1, 0x0a},
		{"one that is no LZMA2", 0, 0x03},
	} {
		data := bytes.Clone(whole)
		data[flags], data[filter] = tt.flags, tt.filter
		r, err := openXz(bytes.NewReader(data))
		if err == nil {
			_, err = io.ReadAll(r)
		}
		if !errors.Is(err, errXzFilter) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestXzDamaged: of a file with any byte changed, all is expanded, or an error says that it is not.
func TestXzDamaged(t *testing.T) {
	var out bytes.Buffer
	w, _ := xz.NewWriter(&out)
	text := strings.Repeat("some bytes of a capture ", 40)
	if _, err := io.WriteString(w, text); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	for i := range out.Len() {
		data := bytes.Clone(out.Bytes())
		data[i] ^= 0x55
		r, err := openXz(bytes.NewReader(data))
		var got []byte
		if err == nil {
			got, err = io.ReadAll(r)
		}
		if err == nil && string(got) != text {
			t.Errorf("byte %d changed: other bytes and no error", i)
		}
	}
}

// TestXzPanic: a panic of the library is an error, which stays.
func TestXzPanic(t *testing.T) {
	r := &xzReader{guard: &xzGuard{}}
	for range 2 { // a reader that was not made panics
		if _, err := r.Read(make([]byte, 1)); err == nil || !strings.HasPrefix(err.Error(), "the decoder failed: ") {
			t.Errorf("got %v", err)
		}
	}
}
