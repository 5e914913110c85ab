package sample

import (
	"cmp"
	"math"
	"slices"

	"qsniff/internal/base/lru"
)

// quota is how many bytes are admitted in each interval of time. The zero value admits all.
type quota struct {
	most  int // of an interval; 0: all
	from  int64
	width int64 // of an interval in nanoseconds
	bytes map[uint64]int
}

// interval is a hash of the interval in which an entry began.
func (q *quota) interval(e *Entry) uint64 { return lru.Mix(0, uint64((e.First-q.from)/q.width)) }

// admits reports whether there is room in the interval of an entry; for the first one of a
// group there is twice as much. How long it is does not matter.
func (q *quota) admits(e *Entry) bool {
	if q.most == 0 {
		return true
	}
	when := q.interval(e)
	n := q.bytes[when]
	return len(q.bytes) < maxCounts && (n < q.most || n/2 < q.most && q.bytes[when^e.group] == 0)
}

// count counts an entry that was kept.
func (q *quota) count(e *Entry) {
	if q.most > 0 {
		when := q.interval(e)
		q.bytes[when] += e.size
		q.bytes[when^e.group] += e.size
	}
}

// choose returns entries that take at most so many bytes, and are at most so many: about as
// many bytes of each of maxIntervals, and in these of each group, so that long ones leave room
// for short ones. It also returns the quota by which they were chosen.
func choose(all []Entry, bytes, count int) ([]Entry, quota) {
	if len(all) == 0 {
		return nil, quota{}
	}
	q := quota{bytes: map[uint64]int{}, width: 1, from: all[0].First}
	last := q.from
	for i := range all {
		q.from, last = min(q.from, all[i].First), max(last, all[i].First)
	}
	q.width = (last-q.from)/maxIntervals + 1
	var kept []Entry
	q.most = math.MaxInt
	ranked := q.rank(all)
	clear(q.bytes)
	for _, r := range ranked {
		e := &all[r.at]
		if len(kept) == count || e.size > bytes {
			q.most = r.rank // those that follow would make their intervals as long
			break
		}
		bytes -= e.size
		kept = append(kept, *e)
		q.count(e)
	}
	return kept, q
}

// rankedEntry is an entry by its index, and how many bytes it makes with those before it: of its
// group in its interval, then of all groups in that.
type rankedEntry struct {
	at, rank    int
	when, group uint64
}

// rank returns the order in which entries are chosen.
func (q *quota) rank(all []Entry) []rankedEntry {
	ranked := make([]rankedEntry, len(all))
	for i := range all {
		ranked[i].at = i
	}
	slices.SortFunc(ranked, func(a, b rankedEntry) int {
		return cmp.Or(cmp.Compare(all[a.at].size, all[b.at].size), cmp.Compare(a.at, b.at))
	})
	for i := range ranked {
		r := &ranked[i]
		r.when = q.interval(&all[r.at])
		r.group = r.when ^ all[r.at].group
		q.bytes[r.group] += all[r.at].size
		r.rank = q.bytes[r.group]
	}
	byRank := func(a, b rankedEntry) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.when, b.when), cmp.Compare(a.group, b.group), cmp.Compare(a.at, b.at))
	}
	slices.SortFunc(ranked, byRank)
	clear(q.bytes)
	for i := range ranked {
		r := &ranked[i]
		q.bytes[r.when] += all[r.at].size
		r.rank = q.bytes[r.when]
	}
	slices.SortFunc(ranked, byRank)
	return ranked
}

const (
	// limit: maxIntervals is how many intervals of time exchanges are spread over. Chosen: the points
	// of a chart.
	maxIntervals = 240

	// limit: maxCounts is how many groups and intervals have counts, 1 MiB. Chosen: 16 for each of
	// maxEntries.
	maxCounts = 1 << 15
)
