package file

import (
	"bytes"
	"io"
	"os"
	"runtime"
	"testing"

	"github.com/google/gopacket/pcapgo"

	"qsniff/capture"
	"qsniff/internal/test/race"
)

// endless repeats a run of records for ever after the file header.
type endless struct {
	header, records []byte
	pos             int
}

func (e *endless) Read(p []byte) (n int, err error) {
	if len(e.header) > 0 {
		n = copy(p, e.header)
		e.header = e.header[n:]
	}
	for n < len(p) {
		k := copy(p[n:], e.records[e.pos:])
		n, e.pos = n+k, (e.pos+k)%len(e.records)
	}
	return n, nil
}

func TestReadAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	v := variants[0]
	var records []byte
	for i := range 5000 {
		n := uint32(i * 7 % 1500)
		records = v.record(records, 0, 0, n, n, make([]byte, n))
	}
	r, err := NewReader(&endless{header: v.header(4, 0, 1), records: records}, "x.pcap")
	if err != nil {
		t.Fatal(err)
	}
	checkAllocations(t, r)
}

// The same for pcapng with all that packets can have.
func TestReadNgAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	w := startNg(orders[0].order)
	head := len(w.b)
	for i := range 5000 {
		var opts []opt
		if i%10 == 0 {
			opts = []opt{text8(optComment, "a comment"), w.option64(optDropCount, 1)}
		}
		w.enhanced(0, uint64(i), 1500, string(make([]byte, i*7%1500)), opts...)
		if i%50 == 0 {
			w.simple(9, "123456789")
			w.statistics(0, w.option64(optDropped, uint64(i)))
			w.block(blockNames, make([]byte, 100))
		}
	}
	r, err := NewReader(&endless{header: w.b[:head:head], records: w.b[head:]}, "x.pcapng")
	if err != nil {
		t.Fatal(err)
	}
	checkAllocations(t, r)
}

func checkAllocations(t *testing.T, r *Reader) {
	t.Helper()
	var batches [3]capture.Batch
	turn := 0
	read := func() {
		turn++
		if err := r.Read(&batches[turn%len(batches)]); err != nil {
			t.Fatal(err)
		}
	}
	for range 300 {
		read()
	}
	if got := testing.AllocsPerRun(200, read); got != 0 {
		t.Errorf("got  %v allocations a batch\nwant 0", got)
	}
}

// Records that grow by and by must not replace the buffers at every batch.
func TestBuffersAreReplacedRarely(t *testing.T) {
	v := variants[0]
	file := v.header(4, 0, 1)
	for i := range 100 * capture.MaxPackets {
		n := uint32(i / 512)
		file = v.record(file, 0, 0, n, n, make([]byte, n))
	}
	r := mustReader(t, file)
	b := capture.Batch{Packets: make([]capture.Packet, 0, capture.MaxPackets)}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for r.Read(&b) == nil {
	}
	runtime.ReadMemStats(&after)
	if got, want := after.TotalAlloc-before.TotalAlloc, uint64(2*maxChunk); got > want {
		t.Errorf("got  %d bytes allocated\nwant at most %d", got, want)
	}
}

// The longest record takes few reads although the first one asks for little.
func TestLongRecordTakesFewReads(t *testing.T) {
	v := variants[0]
	file := v.record(v.header(4, 0, 1), 0, 0, capture.MaxCaptured, capture.MaxCaptured, make([]byte, capture.MaxCaptured))
	reads := 0
	all := func() int { reads++; return len(file) }
	r, err := NewReader(&shortReader{bytes.NewReader(file), all}, "x.pcap")
	if err != nil {
		t.Fatal(err)
	}
	var b capture.Batch
	if err := r.Read(&b); err != nil || len(b.Packets) != 1 {
		t.Fatalf("got  %d packets, %v\nwant 1", len(b.Packets), err)
	}
	if want := 7; reads > want { // 16 KiB, the rest of the chunk, doubled to 512 KiB
		t.Errorf("got  %d reads\nwant at most %d", reads, want)
	}
}

const benchPackets = 200_000

// benchFile is a flood of A2S_INFO requests: frames of 71 bytes.
func benchFile() []byte {
	v := variants[0]
	file := v.header(4, capture.MaxCaptured, 1)
	for i := range uint32(benchPackets) {
		file = v.record(file, i, 0, 71, 71, make([]byte, 71))
	}
	return file
}

// benchNgFile is the same as pcapng.
func benchNgFile() []byte {
	w := startNg(orders[0].order)
	data := string(make([]byte, 71))
	for i := range uint64(benchPackets) {
		w.enhanced(0, i*1e9, 71, data)
	}
	return w.b
}

// benchmark reports the time of one packet as that of one operation. open
// returns a function that reads some packets and says how many.
func benchmark(b *testing.B, open func() func() (int, error)) {
	b.ReportAllocs()
	b.SetBytes(recordHeaderLen + 71)
	for left := b.N; left > 0; {
		read := open()
		for left > 0 {
			n, err := read()
			left -= n
			if err == io.EOF {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkReader(b *testing.B) {
	data := benchFile()
	path := writeFile(b, "x.pcap", data)
	file, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	var batch capture.Batch
	native := func(in io.Reader) func() (int, error) {
		r, err := NewReader(in, "x.pcap")
		if err != nil {
			b.Fatal(err)
		}
		return func() (int, error) {
			err := r.Read(&batch)
			return len(batch.Packets), err
		}
	}
	pcapgoReader := func(in io.Reader) func() (int, error) {
		r, err := pcapgo.NewReader(in)
		if err != nil {
			b.Fatal(err)
		}
		return func() (int, error) {
			_, _, err := r.ZeroCopyReadPacketData()
			return 1, err
		}
	}
	pcapgoNgReader := func(in io.Reader) func() (int, error) {
		r, err := pcapgo.NewNgReader(in, pcapgo.DefaultNgReaderOptions)
		if err != nil {
			b.Fatal(err)
		}
		return func() (int, error) {
			_, _, err := r.ZeroCopyReadPacketData()
			return 1, err
		}
	}
	ng := benchNgFile()
	rewound := func() io.Reader {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			b.Fatal(err)
		}
		return file
	}
	inMemory := func() io.Reader { return bytes.NewReader(data) }
	for _, c := range []struct {
		name  string
		input func() io.Reader
		open  func(io.Reader) func() (int, error)
	}{
		{"native/memory", inMemory, native},
		{"native/file", rewound, native},
		{"native ng/memory", func() io.Reader { return bytes.NewReader(ng) }, native},
		{"pcapgo ng/memory", func() io.Reader { return bytes.NewReader(ng) }, pcapgoNgReader},
		{"pcapgo/memory", inMemory, pcapgoReader},
		{"pcapgo/file", rewound, pcapgoReader},
	} {
		b.Run(c.name, func(b *testing.B) {
			benchmark(b, func() func() (int, error) { return c.open(c.input()) })
		})
	}
}
