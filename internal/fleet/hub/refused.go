package hub

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"qsniff/internal/fleet"
)

// refusals count the messages that cannot be of a sensor, by sensor and reason.
type refusals struct {
	mu     sync.Mutex
	counts map[refusal]uint64
}

type refusal struct {
	sensor string
	why    fleet.Reason
}

// Refused is how many messages of a sensor were refused for a reason, since the hub began.
type Refused struct {
	Sensor string       `json:"sensor"` // empty: further ones, and subjects of none
	Why    fleet.Reason `json:"why"`
	Count  uint64       `json:"count"`
}

func (r *refusals) add(sensor string, why fleet.Reason) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts = map[refusal]uint64{}
	}
	k := refusal{sensor, why}
	if _, isKnown := r.counts[k]; !isKnown && len(r.counts) >= mostRefusers {
		k.sensor = ""
	}
	r.counts[k]++
}

// list returns the counts, the most first.
func (r *refusals) list() []Refused {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Refused, 0, len(r.counts))
	for _, k := range slices.SortedFunc(maps.Keys(r.counts), func(a, b refusal) int { return cmp.Or(cmp.Compare(a.sensor, b.sensor), cmp.Compare(a.why, b.why)) }) {
		all = append(all, Refused{k.sensor, k.why, r.counts[k]})
	}
	slices.SortStableFunc(all, func(a, b Refused) int { return cmp.Compare(b.Count, a.Count) })
	return all
}
