package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/dissect"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/test/lrutest"
	"qsniff/internal/test/protos"
	"qsniff/internal/test/race"
	"qsniff/internal/test/testpcap"
)

// shipped parses the captures of this repository, once for all tests, and returns them by file.
var shipped = sync.OnceValues(func() (map[string]*testpcap.Capture, error) {
	names, err := filepath.Glob("../../pcapfiles/*/*.hex")
	if err != nil || len(names) < 100 {
		return nil, fmt.Errorf("%d captures: %v", len(names), err)
	}
	all := map[string]*testpcap.Capture{}
	for _, name := range names {
		if all[name], err = testpcap.ReadFile(name); err != nil {
			return nil, err
		}
	}
	return all, nil
})

// mixed is a capture of this repository's captures one after the other, repeated
// with later times, so that it has everything at once: order is by file.
func mixed(t testing.TB, rounds int, without ...string) []byte {
	t.Helper()
	all, err := shipped()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := testpcap.NewWriter(&out, testpcap.Format{Link: testpcap.LinkEthernet, SnapLen: capture.MaxCaptured, Nano: true})
	if err != nil {
		t.Fatal(err)
	}
	shift := int64(0)
	for range rounds {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			c := all[name]
			if c.Format.Link != testpcap.LinkEthernet || slices.ContainsFunc(without, func(s string) bool { return strings.Contains(name, s) }) {
				continue
			}
			for _, p := range c.Packets {
				if err := w.WritePacket(p.Nanos+shift, p.Frame); err != nil {
					t.Fatal(err)
				}
			}
			shift += 100e6
		}
	}
	return out.Bytes()
}

// protocol is the one of reg that is called name.
func protocol(t testing.TB, reg *dissect.Registry, name string) *dissect.Proto {
	t.Helper()
	for _, p := range reg.Protos() {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("no protocol is called %s", name)
	return nil
}

func open(t testing.TB, data []byte) *file.Reader {
	t.Helper()
	src, err := file.NewReader(bytes.NewReader(data), "test.pcap")
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// someJobs are numbers of goroutines, the first one 1: with -short those that differ most.
func someJobs() []int {
	if testing.Short() {
		return []int{1, 16}
	}
	return []int{1, 2, 4, 16}
}

// TestJobs: output does not depend on the number of goroutines, not even when
// every table overflows.
func TestJobs(t *testing.T) {
	data := mixed(t, 3)
	for _, memory := range []int64{0, 64 << 10} {
		var want []byte
		for _, jobs := range someJobs() {
			var out bytes.Buffer
			run, err := Run(context.Background(), Config{Source: open(t, data), Registry: protos.Registry(t),
				Renderer: jsonl.New(jsonl.Options{Layout: true}), Out: &out, Jobs: jobs, Memory: memory})
			if err != nil {
				t.Fatal(err)
			}
			if run.Messages < 500 {
				t.Fatalf("%d messages", run.Messages)
			}
			if memory > 0 && (run.Split.Evicted+run.IP.Evicted+run.Joined.Evicted == 0 || run.FlowsEvicted == 0) {
				t.Fatalf("nothing overflowed: %+v", run)
			}
			if want == nil {
				want = out.Bytes()
			}
			if !bytes.Equal(out.Bytes(), want) {
				t.Errorf("%d jobs, memory %d: output differs from one job's", jobs, memory)
			}
		}
	}
}

// lines decodes data and returns the lines of JSON.
func lines(t testing.TB, data []byte, cfg Config) []string {
	t.Helper()
	var out bytes.Buffer
	cfg.Source, cfg.Registry, cfg.Out, cfg.Renderer = open(t, data), protos.Registry(t), &out, jsonl.New(jsonl.Options{})
	if _, err := Run(context.Background(), cfg); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// messageLines is lines without the records between messages.
func messageLines(t testing.TB, data []byte, cfg Config) []string {
	t.Helper()
	return slices.DeleteFunc(lines(t, data, cfg), func(line string) bool { return strings.Contains(line, `"record":`) })
}

// TestOrder: messages come in the order of the packets that completed them. Sets
// that were given up come where that was decided, and so does a reply that waited
// in vain for its other fragments, and what is found because no answer came. A
// finding about several messages follows the last of them.
func TestOrder(t *testing.T) {
	last := map[string]uint64{} // of a connection: its messages may wait after a hole
	for _, line := range lines(t, mixed(t, 1, "full-1364-bytes"), Config{Jobs: 4}) {
		var m struct {
			Frame               uint64
			Status, Record, ID  string
			Split               *struct{}
			Frames              []uint64
			Transport, Src, Dst string
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		if m.Status == "fragment" || m.Split != nil {
			continue
		}
		if slices.Contains([]string{"A2S-S02", "A2S-S05", "A2S-S06", "MST-01", "MST-02", "MON-01", "ASE-01"}, m.ID) { // no answer came
			continue
		}
		if m.Frame == 0 { // a record
			m.Frame = m.Frames[len(m.Frames)-1]
		}
		stream := ""
		if m.Transport == "tcp" {
			stream = m.Src + m.Dst
		}
		if m.Frame < last[stream] {
			t.Errorf("frame %d after frame %d: %s", m.Frame, last[stream], line)
		}
		last[stream] = m.Frame
	}
}

// TestMax: the first messages, not more, whatever the number of goroutines.
func TestMax(t *testing.T) {
	data := mixed(t, 1)
	all := messageLines(t, data, Config{Jobs: 1})
	for _, n := range []int{1, 2, 77} {
		got := messageLines(t, data, Config{Jobs: 4, MaxMessages: n})
		if strings.Join(got, "\n") != strings.Join(all[:n], "\n") {
			t.Errorf("%d messages: got %d lines, or others", n, len(got))
		}
	}
}

// TestAsTheyComeIn: a message is written when its packet is there, not when the
// input ends.
func TestAsTheyComeIn(t *testing.T) {
	data := mixed(t, 1)
	in, feed := io.Pipe()
	seen, out := io.Pipe()
	go func() {
		const head = 2000 // some packets
		feed.Write(data[:head])
		buf := make([]byte, 1)
		if _, err := seen.Read(buf); err != nil { // blocks until something is written
			t.Error(err)
		}
		go io.Copy(io.Discard, seen)
		feed.Write(data[head:])
		feed.Close()
	}()
	src, err := file.NewReader(in, "pipe")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), Config{Source: src, Registry: protos.Registry(t),
		Renderer: jsonl.New(jsonl.Options{}), Out: out, Jobs: 2}); err != nil {
		t.Fatal(err)
	}
}

// TestDamage: what precedes the damage is written, then the error comes.
func TestDamage(t *testing.T) {
	data := mixed(t, 1)
	whole := lines(t, data, Config{Jobs: 2})
	var out bytes.Buffer
	run, err := Run(context.Background(), Config{Source: open(t, data[:len(data)*2/3]), Registry: protos.Registry(t),
		Renderer: jsonl.New(jsonl.Options{}), Out: &out, Jobs: 2})
	var damage *file.Error
	if !errors.As(err, &damage) {
		t.Fatalf("got %v, want a damaged file", err)
	}
	n := strings.Count(out.String(), "\n") - strings.Count(out.String(), `"record":`)
	if n < len(whole)/4 || uint64(n) != run.Messages {
		t.Errorf("%d lines, %d messages, of %d", n, run.Messages, len(whole))
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

func TestWriterFails(t *testing.T) {
	want := errors.New("disk full")
	_, err := Run(context.Background(), Config{Source: open(t, mixed(t, 1)), Registry: protos.Registry(t),
		Renderer: jsonl.New(jsonl.Options{}), Out: brokenWriter{want}, Jobs: 2})
	if !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
}

// TestCancelled: a run ends though its source blocks.
func TestCancelled(t *testing.T) {
	data := mixed(t, 1)
	in, feed := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		feed.Write(data[:1000])
		cancel() // and no end of input
	}()
	src, err := file.NewReader(in, "pipe")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(ctx, Config{Source: src, Registry: protos.Registry(t), Out: io.Discard, Jobs: 2}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	feed.Close()
}

// prepare reads all batches of a capture, decoded and dealt out to partitions.
func prepare(t testing.TB, data []byte) []*batch {
	t.Helper()
	r := newReader(open(t, data), fragMemory)
	var all []*batch
	for more := true; more; {
		b := newBatch()
		more = r.fill(context.Background(), b)
		all = append(all, b)
	}
	if err := all[len(all)-1].err; err != io.EOF {
		t.Fatal(err)
	}
	return all
}

func workOff(parts []*partition, batches []*batch, seg *segment) {
	for _, b := range batches {
		for i := range b.items {
			it := &b.items[i]
			if seg.reset(); it.part == allPartitions {
				for _, p := range parts {
					p.process(int32(i), it, seg)
				}
			} else {
				parts[it.part].process(int32(i), it, seg)
			}
		}
	}
}

func newPartitions(t testing.TB, r *jsonl.Renderer) []*partition {
	cfg := &Config{Registry: protos.Registry(t)}
	if r != nil {
		cfg.Renderer = r
	}
	parts := make([]*partition, Partitions)
	for i := range parts {
		parts[i] = newPartition(i, cfg, 1)
	}
	return parts
}

// unsteady names the captures that allocate each time: bzip2 streams of which one
// reading does not decompress, which the library reports with a panic of its own,
// and messages so long that their output is not kept.
var unsteady = []string{"hostile/", "compressed-prefix", "compressed-no-prefix", "compressed-randomised"}

// TestAllocations: partitions allocate nothing when their memory has grown once.
func TestAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	batches := prepare(t, mixed(t, 1, unsteady...))
	parts, seg := newPartitions(t, jsonl.New(jsonl.Options{Layout: true})), new(segment)
	for range 10 { // memory is taken by need, and the library's tables for decompression grow by steps
		workOff(parts, batches, seg)
	}
	if n := testing.AllocsPerRun(10, func() { workOff(parts, batches, seg) }); n != 0 {
		t.Errorf("%v allocations in a pass over %d batches", n, len(batches))
	}
}

// TestBrokenStreams bounds what a stream that does not decompress costs.
func TestBrokenStreams(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	batches := prepare(t, mixed(t, 1))
	parts, seg := newPartitions(t, nil), new(segment)
	for range 3 {
		workOff(parts, batches, seg)
	}
	bad := func() (n uint64) {
		for _, p := range parts {
			n += p.joiner.split.Counters.BadBzip2 + p.joiner.split.Counters.TooLarge
		}
		return n
	}
	const passes, each = 3, 10
	before := bad()
	n := testing.AllocsPerRun(passes, func() { workOff(parts, batches, seg) })
	streams := (bad() - before) / (passes + 1)
	if streams == 0 || n > float64(streams*each) {
		t.Errorf("%v allocations for %d broken streams, want at most %d each", n, streams, each)
	}
}

// endlessCapture repeats a capture's records for ever.
type endlessCapture struct {
	data []byte
	off  int
}

func (e *endlessCapture) Read(p []byte) (int, error) {
	const fileHeader = 24
	if e.off == len(e.data) {
		e.off = fileHeader
	}
	n := copy(p, e.data[e.off:])
	e.off += n
	return n, nil
}

// TestReaderAllocations: neither does the reader, fragments of IP included.
func TestReaderAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	src, err := file.NewReader(&endlessCapture{data: mixed(t, 1, "hostile/")}, "test.pcap")
	if err != nil {
		t.Fatal(err)
	}
	r, b := newReader(src, fragMemory), newBatch()
	fill := func() {
		if !r.fill(context.Background(), b) {
			t.Fatal(b.err)
		}
	}
	for range 100 {
		fill()
	}
	if n := testing.AllocsPerRun(200, fill); n != 0 {
		t.Errorf("%v allocations in a batch", n)
	}
	if r.frags.Counters().Joined == 0 {
		t.Error("no fragments were joined")
	}
}

func BenchmarkDecode(b *testing.B) { benchmark(b, nil) }

func BenchmarkJSON(b *testing.B) { benchmark(b, jsonl.New(jsonl.Options{})) }

// benchmark measures partitions on one core, a packet an operation.
func benchmark(b *testing.B, r *jsonl.Renderer) { benchmarkPartitions(b, newPartitions(b, r)) }

func benchmarkPartitions(b *testing.B, parts []*partition) {
	batches := prepare(b, mixed(b, 1))
	seg, packets := new(segment), 0
	for _, x := range batches {
		packets += len(x.raw.Packets)
	}
	workOff(parts, batches, seg)
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; n += packets {
		workOff(parts, batches, seg)
	}
}

// TestChosenKeys: nobody can choose keys that collide in the tables.
func TestChosenKeys(t *testing.T) {
	lrutest.Check[parkKey](t)
}

// TestMicros: the time since the line before has six decimals where times are cut to
// microseconds, and is the difference of the times that are printed.
func TestMicros(t *testing.T) {
	for _, tc := range []struct {
		micros bool
		want   string
	}{{true, "   0.000002"}, {false, "0.000001002"}} {
		o := &textOutput{cutsToMicros: tc.micros, before: 1_700_000_000_000_000_999}
		o.buf = append(o.buf, "           "...)
		o.fillHole(0, len(o.buf), 1_700_000_000_000_002_001)
		if tc.micros { // the line before was printed with its own time cut
			o.before, o.buf = 1_700_000_000_000_000_000, append(o.buf[:0], "           "...)
			o.fillHole(0, len(o.buf), 1_700_000_000_000_002_001)
		}
		if got := string(o.buf); got != tc.want {
			t.Errorf("micros %v: got %q, want %q", tc.micros, got, tc.want)
		}
	}
}

// Where the run ends within a batch, workers are still at it: the reader must not
// fill it again before it learns of the end.
func TestEndWithinBatch(t *testing.T) {
	full := errors.New("disk full")
	for _, tc := range []struct {
		name string
		out  io.Writer
		max  uint64
		want error
	}{
		{"enough messages", io.Discard, 1, nil},
		{"writer fails", brokenWriter{full}, 0, full},
	} {
		w := newWorker(0, 1, nil, segmentsPerWorker)
		seg := <-w.free
		seg.buf = make([]byte, writeSize)
		seg.spans = append(seg.spans, span{isMessage: true, end: len(seg.buf), truth: filter.All})
		w.out <- seg
		f := &fold{out: &textOutput{w: tc.out}, max: tc.max, workers: []*worker{w}, heads: make([]head, 1)}
		s := &stages{fold: f, free: make(chan *batch, 1), full: make(chan *batch, 1)}
		s.full <- newBatch()
		if err := s.foldBatches(t.Context()); err != tc.want {
			t.Errorf("%s: got %v, want %v", tc.name, err, tc.want)
		}
		if len(s.free) != 0 {
			t.Errorf("%s: the reader got the batch", tc.name)
		}
	}
}
