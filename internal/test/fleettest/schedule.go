package fleettest

import (
	"cmp"
	"math/rand/v2"
	"time"
)

// scheduled is something that happens.
type scheduled struct {
	at    time.Duration // since the world began
	order uint64        // of those at the same time
	do    func()
}

func (s *scheduled) isBefore(o *scheduled) bool {
	return cmp.Or(cmp.Compare(s.at, o.at), cmp.Compare(s.order, o.order)) < 0
}

// schedule is what is to happen, as a binary heap. Package container/heap would allocate for each.
type schedule struct {
	heap  []scheduled
	count uint64
}

func (q *schedule) push(at time.Duration, do func()) {
	q.count++
	q.heap = append(q.heap, scheduled{at, q.count, do})
	for i := len(q.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if q.heap[up].isBefore(&q.heap[i]) {
			return
		}
		q.heap[up], q.heap[i] = q.heap[i], q.heap[up]
		i = up
	}
}

func (q *schedule) pop() scheduled {
	first, last := q.heap[0], len(q.heap)-1
	q.heap[0], q.heap[last] = q.heap[last], scheduled{}
	q.heap = q.heap[:last]
	for i := 0; ; {
		least := i
		for _, below := range [2]int{2*i + 1, 2*i + 2} {
			if below < last && q.heap[below].isBefore(&q.heap[least]) {
				least = below
			}
		}
		if least == i {
			return first
		}
		q.heap[least], q.heap[i] = q.heap[i], q.heap[least]
		i = least
	}
}

// At has something happen at a time, at once if that is over.
func (w *World) At(t time.Duration, do func()) { w.queue.push(max(t, w.now), do) }

// Every has something happen n times a second, evenly, from one time to another.
func (w *World) Every(n float64, from, to time.Duration, do func(i int)) {
	gap, i := time.Duration(float64(time.Second)/n), 0
	var next func()
	next = func() {
		do(i)
		i++
		if t := from + time.Duration(i)*gap; t < to {
			w.At(t, next)
		}
	}
	w.At(from, next)
}

// Poisson has something happen n times a second on average, at times that do not depend on each
// other.
func (w *World) Poisson(n float64, from, to time.Duration, do func()) {
	var next func()
	again := func(after time.Duration) {
		if t := after + time.Duration(w.Rand.ExpFloat64()/n*1e9); t < to {
			w.At(t, next)
		}
	}
	next = func() {
		do()
		again(w.now)
	}
	again(from)
}

// Sample returns n of the numbers below of, in random order.
func Sample(r *rand.Rand, n, of int) []int { return r.Perm(of)[:n] }
