package browse

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"hash/maphash"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/dissect/finding"
	"qsniff/internal/pipeline"
	"qsniff/internal/render"
	"qsniff/internal/render/text"
)

// Row is a line of the list as it is shown.
type Row struct {
	Frame          uint64
	Nanos          int64
	Src, Dst       string
	Proto, Reading string
	Severity       int           // of the worst finding plus 1, 0 for none
	Event          *render.Event // nil for a finding, and where there is no room
}

// headLen is the length of what a reading appends for each message: frame, print, and for an
// index the first frame of its exchange, or for rows the number of its row, from 1.
const headLen = 8 + 4 + 8

// reading is the renderer of a run over the capture. Of each message it appends a head, and
// makes the rows that are wanted: the run of an index wants those of findings, which reading
// again would not give; one for rows wants these.
type reading struct {
	line   *text.Line
	seed   maphash.Seed
	wanted map[ident]bool // without a print: all of the frame; nil: findings

	begin  sync.Once
	mu     sync.Mutex
	start  int64 // of the capture: of a run for an index, that of its first event
	rows   []*Row
	cloned int // bytes of events
}

// ident is by what a message is found again.
type ident struct {
	frame uint64
	print uint32
}

func appendHead(dst []byte, k ident, more uint64) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, k.frame)
	dst = binary.LittleEndian.AppendUint32(dst, k.print)
	return binary.LittleEndian.AppendUint64(dst, more)
}

// Append implements render.Renderer. Workers call it, several at a time.
func (r *reading) Append(dst []byte, e *render.Event) []byte {
	k := ident{e.Frame, r.print(e)}
	if r.wanted == nil {
		r.begin.Do(func() {
			r.mu.Lock()
			r.start = e.Start
			r.mu.Unlock()
		})
		return appendHead(dst, k, e.Exchange.ID)
	}
	if !r.wanted[k] && !r.wanted[ident{frame: e.Frame}] {
		return appendHead(dst, k, 0)
	}
	row := &Row{Frame: e.Frame, Nanos: e.Nanos, Src: e.Src.String(), Dst: e.Dst.String(), Severity: worst(e.Msg.Expert)}
	row.Proto, row.Reading, _ = strings.Cut(string(r.line.AppendReading(nil, e)), " ")
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cloned += len(e.Msg.Data) + len(e.Msg.Aux) + 64*len(e.Msg.Fields); r.cloned < maxCloned || len(r.wanted) == 1 {
		row.Event = e.Clone()
		row.Event.Start = r.start
	}
	r.rows = append(r.rows, row)
	return appendHead(dst, k, uint64(len(r.rows)))
}

// AppendRecord implements render.Renderer.
func (r *reading) AppendRecord(dst []byte, x *render.Record) []byte {
	if r.wanted != nil {
		return dst
	}
	row := &Row{Nanos: x.Nanos, Severity: int(x.Expert.Severity) + 1}
	if n := len(x.Frames); n > 0 {
		row.Frame = x.Frames[n-1]
	}
	row.Src, row.Dst = endOf(x.Client), endOf(x.Server)
	row.Reading = string(r.line.AppendFinding(nil, x))
	r.mu.Lock()
	defer r.mu.Unlock()
	n := uint32(math.MaxUint32 >> severityBits)
	if len(r.rows) < maxFindings {
		n = uint32(len(r.rows))
		r.rows = append(r.rows, row)
	}
	return appendHead(dst, ident{row.Frame, n<<severityBits | uint32(isFinding)}, 0)
}

func endOf(a netip.AddrPort) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

// worst returns the severity of the worst finding plus 1, or 0.
func worst(all []finding.Expert) int {
	n := 0
	for i := range all {
		n = max(n, int(all[i].Severity)+1)
	}
	return n
}

// print returns a hash of all that is shown of a message, with its severity.
func (r *reading) print(e *render.Event) uint32 {
	m := e.Msg
	h := maphash.Bytes(r.seed, m.Data)
	mix := func(v uint64) { h = (h ^ v) * 0x9e3779b97f4a7c15; h ^= h >> 29 }
	for _, f := range e.Frames {
		mix(f)
	}
	mix(uint64(e.Nanos))
	mix(uint64(m.Status)<<16 | uint64(m.Conf)<<8 | uint64(len(m.Why)))
	mix(uint64(m.Wire)<<32 | uint64(m.StoppedAt))
	if m.Type != nil {
		mix(maphash.String(r.seed, m.Type.Name))
	}
	x := &e.Exchange
	mix(x.ID)
	mix(x.Request<<8 | uint64(len(x.Verb)))
	mix(uint64(x.RTT))
	mix(uint64(x.ChallengeRTT))
	if s := e.Split; s != nil {
		mix(uint64(s.Received)<<32 | uint64(s.Total))
	}
	mix(uint64(len(e.WhyIncomplete))<<16 | uint64(len(e.Record))<<8 | uint64(len(e.JoinedFrom)))
	for i := range m.Fields {
		f := &m.Fields[i]
		mix(f.Num)
		mix(uint64(f.Off)<<32 | uint64(f.Len))
		mix(uint64(f.Depth)<<24 | uint64(f.Flags)<<32 | uint64(len(f.Def.Name)) | uint64(f.Def.Flags)<<48)
	}
	for i := range m.Expert {
		f := &m.Expert[i]
		mix(maphash.String(r.seed, f.Code.ID) ^ uint64(f.Severity)<<32 ^ uint64(uint32(f.Field)))
		mix(f.A)
		mix(f.B ^ f.Frames[0]<<20 ^ f.Frames[1])
	}
	return uint32(h>>32)<<severityBits | uint32(worst(m.Expert))
}

// source gives the pipeline the packets of a capture, and the index marks.
type source struct {
	*file.Reader
	marks *index // nil: they are not wanted
	end   uint64 // number of the packet after which nothing is wanted; 0: to the end
	next  uint64 // number of the packet at which the next mark is due
}

// errEnd ends a run that has all it is for.
var errEnd = errors.New("nothing more is wanted")

// Read implements capture.Source.
func (s *source) Read(b *capture.Batch) error {
	at := s.Reader.Stats()
	if s.end != 0 && at.Received >= s.end {
		return errEnd
	}
	if s.marks != nil && at.Received >= s.next {
		if m, ok := s.Reader.Mark(); ok {
			s.marks.mu.Lock()
			s.marks.marks = append(s.marks.marks, m)
			s.marks.mu.Unlock()
			s.next = at.Received + markEvery
		}
	}
	return s.Reader.Read(b)
}

// Close does nothing: the Reader is its owner's.
func (s *source) Close() error { return nil }

// fetch makes the rows of the entries in want: it reads the capture again from marks that
// are near. The prints show whether that gives the reading of the first time; where it does
// not, because what a message is depends on packets further up, it reads from further up.
func (s *session) fetch(ctx context.Context, x *index, want []int) {
	left := map[int]entry{}
	for _, i := range want {
		for _, e := range x.entries(i, i+1) {
			if e.severity() == isFinding {
				s.keep(x, i, x.finding(e))
			} else {
				left[i] = e
			}
		}
	}
	for level, back := range lookbacks {
		for _, group := range x.group(left, back) {
			if ctx.Err() != nil {
				return
			}
			for i, row := range s.readRows(ctx, x, group, level) {
				s.keep(x, i, row)
				delete(left, i)
			}
		}
	}
	for i, e := range left {
		if ctx.Err() == nil {
			s.keep(x, i, &Row{Frame: e.frame, Reading: "cannot be read again: the file has changed"})
		}
	}
}

// keep keeps the row of an entry, if x is shown.
func (s *session) keep(x *index, i int, row *Row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == x {
		s.rows[i] = row
	}
}

// prune drops the rows that are not between lo and hi.
func (s *session) prune(lo, hi int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.rows, func(i int, _ *Row) bool { return i < lo || i >= hi })
}

// maxGroupGap is how many marks may lie between entries that are read in one run. Chosen: what
// is read in between takes about as long as to begin another run.
const maxGroupGap = 4

// group divides entries into those that are near each other.
func (x *index) group(left map[int]entry, back int) (groups []map[int]entry) {
	order := slices.SortedFunc(maps.Keys(left), func(a, b int) int { return cmp.Compare(left[a].frame, left[b].frame) })
	last := 0
	for n, i := range order {
		at, _ := x.span(left[i], 0)
		if n == 0 || at-last > maxGroupGap+back {
			groups = append(groups, map[int]entry{})
		}
		groups[len(groups)-1][i] = left[i]
		last = at
	}
	return groups
}

// rowWriter finds the entries of a run among the heads that it writes.
type rowWriter struct {
	r     *reading
	left  map[ident][]int // entries without row, in their order
	n     int             // how many these are
	found map[int]*Row
	other map[uint64][]*Row // with another print, by frame
}

// Write implements io.Writer: b has whole heads. It returns errEnd once all is found.
func (w *rowWriter) Write(b []byte) (int, error) {
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	for h := b; len(h) >= headLen; h = h[headLen:] {
		k, row := parseHead(h)
		switch all := w.left[k]; {
		case row == 0:
		case len(all) > 0:
			w.found[all[0]] = w.r.rows[row-1]
			w.left[k] = all[1:]
			w.n--
		default:
			w.other[k.frame] = append(w.other[k.frame], w.r.rows[row-1])
		}
	}
	if w.n == 0 {
		return 0, errEnd
	}
	return len(b), nil
}

// takeOther gives entries that are left the rows of their frames: tables that are full do not
// evict the same entries in each run, so that not even a run over all must give the same.
func (w *rowWriter) takeOther() {
	for k, all := range w.left {
		for n, i := range all {
			if rows := w.other[k.frame]; n < len(rows) {
				w.found[i] = rows[n]
			}
		}
	}
}

// readRows reads the capture again for a group of entries, and returns the rows that have the
// same reading as the first time.
func (s *session) readRows(ctx context.Context, x *index, group map[int]entry, level int) map[int]*Row {
	r := &reading{line: s.line, seed: s.seed, wanted: map[ident]bool{}, start: x.first()}
	out := &rowWriter{r: r, left: map[ident][]int{}, n: len(group), found: map[int]*Row{}, other: map[uint64][]*Row{}}
	isLast := level == len(lookbacks)-1
	var end uint64
	from := int(^uint(0) >> 1)
	for _, i := range slices.Sorted(maps.Keys(group)) {
		e := group[i]
		k := ident{e.frame, e.print}
		r.wanted[k] = true
		if isLast {
			r.wanted[ident{frame: e.frame}] = true
		}
		out.left[k] = append(out.left[k], i)
		first, last := x.span(e, lookbacks[level])
		from, end = min(from, first), max(end, last)
	}
	cfg := s.o.Config
	if !isLast {
		cfg.Memory, cfg.Jobs = smallMemory, 1
	}
	m, ok := x.mark(from)
	if !ok {
		m = s.in.start
	}
	cfg.Source = &source{Reader: s.in.first.Resume(m, s.in.from(ctx, m.Offset, false)), end: end}
	cfg.Renderer, cfg.Out = r, out
	_, _ = pipeline.Run(ctx, cfg) // the first run has reported what is wrong with the capture
	if isLast {
		out.takeOther()
	}
	return out.found
}

// smallMemory is the budget of tables of a run for few rows, in bytes. Chosen: tables of
// 16 MiB take 5 ms to make, those of the usual size 10.
const smallMemory = 16 << 20

// limit: markEvery is how many packets lie between two places from which the capture can be read
// again, of about 60 bytes each. Measured: 1,000 packets take 3 to 9 ms to read again.
const markEvery = 1024

// lookbacks are how many marks before a message, and before the first request of its exchange,
// reading again begins. Where that does not give the same reading as the first time, the next one
// is tried; the last is all. Measured on a mix of protocols at 50,000 packets/s: of 2,000 messages
// the first gave all but 9, in connections, and the second these.
var lookbacks = [...]int{2, 32, 512, 1 << 30}

// limit: maxFindings is how many findings that belong to no message are kept as text, which reading
// again from the middle would not give. Chosen: they are summed up while a run goes on, and a
// capture has tens; at 1 KiB each they take 4 MiB.
const maxFindings = 4096

// limit: maxCloned is how many bytes of messages are kept for the tree, of rows around the selected
// one. Chosen: hundreds of ordinary ones. Of more only the selected one is kept.
const maxCloned = 16 << 20
