package campaign

import "slices"

// stretch is numbers of a run that came: from First to Last.
type stretch struct {
	First uint64 `json:"f"`
	Last  uint64 `json:"l"`
}

// run is what came of one run of a sensor.
type run struct {
	Name string    `json:"run"`
	Came []stretch `json:"came"` // in order, with gaps between; at most maxGaps
	Lost uint64    `json:"lost"` // in gaps that are not waited for any more
}

// add records that a number came. It returns false if it came before, or is in a gap that is not waited for.
func (r *run) add(seq uint64) bool {
	i, found := slices.BinarySearchFunc(r.Came, seq, func(s stretch, n uint64) int {
		switch {
		case s.Last < n:
			return -1
		case s.First > n:
			return 1
		}
		return 0
	})
	if found || r.Lost > 0 && len(r.Came) > 0 && i == 0 { // before the first gap that is still waited for
		return false
	}
	if n := len(r.Came); i == n && n > 0 && seq-r.Came[n-1].Last > maxJump {
		r.Lost = min(addUp(r.Lost, addUp(r.missing(), maxJump)), mostLost)
		r.Came = append(r.Came[:0], stretch{seq, seq})
		return true
	}
	joinsLast := i > 0 && r.Came[i-1].Last+1 == seq
	joinsNext := i < len(r.Came) && seq+1 == r.Came[i].First
	switch {
	case joinsLast && joinsNext:
		r.Came[i-1].Last = r.Came[i].Last
		r.Came = slices.Delete(r.Came, i, i+1)
	case joinsLast:
		r.Came[i-1].Last = seq
	case joinsNext:
		r.Came[i].First = seq
	default:
		r.Came = slices.Insert(r.Came, i, stretch{seq, seq})
	}
	if len(r.Came) > maxGaps {
		r.giveUp()
	}
	return true
}

// giveUp counts the first gap as lost.
func (r *run) giveUp() {
	r.Lost = min(addUp(r.Lost, r.Came[1].First-r.Came[0].Last-1), mostLost)
	r.Came[1].First = r.Came[0].First
	r.Came = slices.Delete(r.Came, 0, 1)
}

// missing returns how many numbers are waited for.
func (r *run) missing() (n uint64) {
	for i := 1; i < len(r.Came); i++ {
		n = addUp(n, r.Came[i].First-r.Came[i-1].Last-1)
	}
	return n
}

// isValid reports whether the run can be one of a snapshot.
func (r *run) isValid() bool {
	for i, s := range r.Came {
		if s.First == 0 || s.Last < s.First || i > 0 && s.First <= r.Came[i-1].Last+1 {
			return false
		}
	}
	return len(r.Came) > 0 && len(r.Came) <= maxGaps
}

// addUp adds counts that sensors claim: nobody can make them begin again from 0.
func addUp(a, b uint64) uint64 {
	if a+b < a {
		return ^uint64(0)
	}
	return a + b
}
