package browse

import (
	"encoding/binary"
	"errors"
	"hash/maphash"
	"math"
	"net/netip"
	"strings"
	"sync"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/dissect/finding"
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
