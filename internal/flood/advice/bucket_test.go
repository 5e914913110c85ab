package advice

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// TestRateLimit follows one bucket.
func TestRateLimit(t *testing.T) {
	a := rateLimit{10, time.Second, 3} // one more each 100 ms, three at once
	full := int64(math.MinInt64)
	const start = int64(1e18)
	for _, x := range []struct {
		at   time.Duration
		drop bool
	}{
		{0, false}, {0, false}, {0, false}, {0, true},
		{99 * time.Millisecond, true}, {100 * time.Millisecond, false}, {100 * time.Millisecond, true},
		{250 * time.Millisecond, false}, {299 * time.Millisecond, true}, {300 * time.Millisecond, false},
		{10 * time.Second, false}, {10 * time.Second, false}, {10 * time.Second, false}, {10 * time.Second, true},
	} {
		if got := a.charge(&full, start+int64(x.at)); got != x.drop {
			t.Errorf("at %v: dropped %v, want %v", x.at, got, x.drop)
		}
	}
}

// TestRateLimitIsTheKernels compares with nft_limit_eval of Linux, as it counts.
func TestRateLimitIsTheKernels(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		a := rateLimit{1 + r.Int64N(1000), [...]time.Duration{time.Second, time.Minute}[r.IntN(2)], 1 + r.Int64N(50)}
		cost := int64(a.per) / a.packets
		most := cost * a.burst
		now := int64(1e18)
		tokens, last, full := most, now, int64(math.MinInt64)
		for i := range 2000 {
			now += r.Int64N(3 * cost)
			tokens = min(tokens+now-last, most)
			last = now
			drop := tokens < cost
			if !drop {
				tokens -= cost
			}
			if got := a.charge(&full, now); got != drop {
				t.Fatalf("%+v, packet %d: dropped %v, the kernel %v", a, i, got, drop)
			}
		}
	}
}

// TestHashTable compares with a map, over growing, removing and all.
func TestHashTable(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var tab hashTable
	tab.reset(1000)
	model := map[uint64]int64{}
	now := int64(0)
	for range 200000 {
		now += r.Int64N(int64(time.Millisecond))
		key := 1 + r.Uint64N(4000)*0x9e3779b97f4a7c15
		v := tab.findOrAdd(key)
		if _, ok := model[key]; v == nil != (!ok && len(model) == 1000) {
			t.Fatalf("room %v, model has %d", v != nil, len(model))
		} else if !ok && v != nil && *v != math.MinInt64 || ok && *v != model[key] {
			t.Fatalf("value %d, want %d", *v, model[key])
		}
		if v != nil {
			*v, model[key] = now, now
			continue
		}
		if now >= tab.nextSweep {
			tab.removeIdle(now, time.Second)
			for k, at := range model {
				if at <= now-int64(time.Second) {
					delete(model, k)
				}
			}
		}
		if tab.numKeys != len(model) {
			t.Fatalf("%d entries, want %d", tab.numKeys, len(model))
		}
	}
}
