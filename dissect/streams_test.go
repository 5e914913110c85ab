package dissect

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"qsniff/internal/test/race"
)

func TestBudget(t *testing.T) {
	m := &Budget{Limit: 8 << 10}
	a, ok := m.Grow(nil, 1)
	if !ok || cap(a) != 1<<10 || m.Used != 1<<10 {
		t.Fatalf("got %d bytes, %v, %d used", cap(a), ok, m.Used)
	}
	a = append(a, "text"...)
	if a, ok = m.Grow(a, 1025); !ok || cap(a) != 2<<10 || string(a) != "text" || m.Used != 2<<10 {
		t.Fatalf("grown: got %d bytes %q, %v, %d used", cap(a), a, ok, m.Used)
	}
	if b, ok := m.Grow(nil, 8<<10); ok || b != nil {
		t.Errorf("got %d bytes beyond the limit", cap(b))
	}
	if a, ok = m.Grow(a, 8<<10); !ok || cap(a) != 8<<10 {
		t.Errorf("what is given back is not counted: got %d bytes, %v", cap(a), ok)
	}
	if a, ok = m.Grow(a, 1<<30); ok || string(a) != "text" {
		t.Errorf("got %d bytes above the largest size, %q kept", cap(a), a)
	}
	m.Release(a)
	m.Release(nil)
	if m.Used != 0 {
		t.Errorf("%d used at the end", m.Used)
	}
}

// TestBudgetKeepsSpare: what is released is used again as long as all of it is within the limit, also just so.
func TestBudgetKeepsSpare(t *testing.T) {
	m := &Budget{Limit: 8 << 10}
	a, _ := m.Grow(nil, 4<<10)
	b, _ := m.Grow(nil, 4<<10)
	m.Release(a)
	m.Release(b)
	first, _ := m.Grow(nil, 4<<10)
	second, _ := m.Grow(nil, 4<<10)
	if &first[:1][0] != &b[:1][0] || &second[:1][0] != &a[:1][0] {
		t.Error("a buffer was made anew")
	}
}

// Any order of growing and releasing keeps the contents apart and the sum of all
// memory below the limit.
func TestBudgetModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	m := &Budget{Limit: 256 << 10}
	var held [20][]byte
	for range 20_000 {
		i := rng.IntN(len(held))
		if rng.IntN(3) == 0 {
			m.Release(held[i])
			held[i] = nil
		} else if b, ok := m.Grow(held[i], len(held[i])+rng.IntN(20<<10)); ok {
			held[i] = append(b, bytes.Repeat([]byte{byte(i)}, min(8, cap(b)-len(b)))...)
		}
		used := 0
		for j, b := range held {
			used += cap(b)
			if len(bytes.Trim(b, string(rune(j)))) > 0 {
				t.Fatalf("buffer %d holds % x", j, b)
			}
		}
		if used != m.Used || m.Used+m.spare > m.Limit {
			t.Fatalf("%d held, %d used, %d spare, the limit is %d", used, m.Used, m.spare, m.Limit)
		}
	}
}

func TestBudgetAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	m := &Budget{Limit: 1 << 20}
	run := func() {
		b, _ := m.Grow(nil, 1)
		b, _ = m.Grow(b, 10<<10)
		b, _ = m.Grow(b, 100<<10)
		m.Release(b)
	}
	run()
	if n := testing.AllocsPerRun(100, run); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestServerSide: the server has the port of a protocol, or the lower one where both have one or none has.
func TestServerSide(t *testing.T) {
	r := &Registry{tcp: newPortTable()}
	if err := r.tcp.add(0, []uint16{100, 200}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		ports [2]uint16
		want  int
	}{
		{[2]uint16{100, 50}, 0},
		{[2]uint16{50, 100}, 1},
		{[2]uint16{100, 300}, 0},
		{[2]uint16{300, 100}, 1},
		{[2]uint16{100, 200}, 0},
		{[2]uint16{200, 100}, 1},
		{[2]uint16{300, 400}, 0},
		{[2]uint16{400, 300}, 1},
	} {
		if got := r.ServerSide(tt.ports); got != tt.want {
			t.Errorf("%v\ngot  %d\nwant %d", tt.ports, got, tt.want)
		}
	}
}
