package browse

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"qsniff/internal/pipeline"
)

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
