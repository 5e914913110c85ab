package campaign

import (
	"encoding/binary"
	"math"
	"net/netip"
	"slices"
	"testing"

	"qsniff/internal/fleet"
	"qsniff/internal/flood"
	"qsniff/internal/flood/measure"
)

// tape is bytes that decide what happens.
type tape struct{ b []byte }

func (t *tape) byte() byte {
	if len(t.b) == 0 {
		return 0
	}
	x := t.b[0]
	t.b = t.b[1:]
	return x
}

func (t *tape) uint() uint64 {
	var b [8]byte
	n := copy(b[:], t.b)
	t.b = t.b[n:]
	return binary.LittleEndian.Uint64(b[:])
}

// float returns any number of 32 bits, or a usual one.
func (t *tape) float() float64 {
	if n := t.byte(); n < 200 {
		return float64(n)
	}
	return float64(math.Float32frombits(uint32(t.uint())))
}

// time returns one near now, or any.
func (t *tape) time(now int64) int64 {
	if n := t.byte(); n < 250 {
		return now - int64(n%16)*5e9
	}
	return int64(t.uint())
}

func (t *tape) networks() (all []fleet.Network) {
	for range t.byte() % 4 {
		all = append(all, fleet.Network{Prefix: fleet.Sealed{t.byte() % 4}, Queries: uint32(t.byte())})
	}
	return all
}

// message returns a message of one of four sensors.
func (t *tape) message(now int64) fleet.Message {
	h := fleet.Head{Version: 1, Sensor: string('a' + rune(t.byte()%4)), Run: string('1' + rune(t.byte()%5)), Seq: uint64(t.byte()) + 1, Time: t.time(now)}
	if t.byte() > 250 {
		h.Seq = max(t.uint(), 1)
	}
	addr := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, t.byte() % 8}), 27015)
	switch t.byte() % 3 {
	case 0:
		return &fleet.Host{Head: h, Packets: t.uint(), Others: fleet.Others{PacketsIn: t.uint()}}
	case 1:
		m := &fleet.Incident{Head: h, ID: uint64(t.byte() % 8), Event: flood.Event(t.byte() % 3).String(), Category: flood.Kind(t.byte() % byte(flood.NumKinds)).String(),
			Targets: []netip.AddrPort{addr}, Start: t.time(now), Peak: t.float(), Baseline: t.float(), Requests: uint64(t.byte()), Top: t.networks(), Networks: t.networks(),
			Forms: []fleet.Form{{Protocol: "a2s", Max: uint32(t.byte() % 2), Packets: 9}}}
		if t.byte()%2 > 0 {
			m.End = t.time(now)
		}
		for i := range uint64(t.byte()) {
			m.Sources.Add(i * 0x9e3779b97f4a7c15)
		}
		return m
	}
	m := &fleet.Server{Head: h, Addr: addr, PacketsIn: t.uint()}
	m.IsMeasured, m.Top, m.Forms = t.byte() > 20, t.networks(), []fleet.Form{{Protocol: "a2s", Packets: uint64(t.byte())}}
	f := &m.Features
	f[measure.Rate10], f[measure.RateNow], f[measure.WindowQueries] = t.float(), t.float(), t.float()
	f[measure.Challenged], f[measure.Completion], f[measure.TTL1] = t.float(), t.float(), t.float()
	for range t.byte() % 4 {
		f[t.byte()%byte(measure.NumFeatures)] = t.float()
	}
	for i := range uint64(t.byte()) {
		m.Sources.Add((i + uint64(addr.Addr().As4()[3])) * 0x9e3779b97f4a7c15)
	}
	return m
}

// FuzzEngine: whatever sensors say, nothing grows beyond its limit, no event is told twice, and an engine that
// is restored in the middle tells the same as one that is not.
func FuzzEngine(f *testing.F) {
	f.Add([]byte("an incident here, another there"))
	f.Add(slices.Repeat([]byte{1, 2, 3, 60, 90, 0, 4, 2, 8, 30, 30, 200, 0, 0, 100}, 60))
	f.Add(slices.Repeat([]byte{0, 0, 7, 0, 0, 3, 1, 1, 0, 3, 200, 9, 77, 250, 2}, 80))
	f.Fuzz(func(t *testing.T, data []byte) {
		x, y := newTold(), newTold()
		tape := &tape{data}
		now := dawn
		for i := 0; len(tape.b) > 0 && i < 400; i++ {
			now += int64(tape.byte()) * 100e6
			m := tape.message(now)
			sent := tape.time(now)
			if x.engine.Consume(m, now, sent) != y.engine.Consume(m, now, sent) {
				t.Fatal("the restored engine has another opinion of a message")
			}
			x.engine.Advance(now)
			y.engine.Advance(now)
			if i%20 == 10 {
				y.restart(t)
			}
		}
		x.engine.Advance(now + 3600e9)
		y.engine.Advance(now + 3600e9)
		if !slices.Equal(x.lines(), y.lines()) {
			t.Errorf("restored:\n%q\nnot:\n%q", y.lines(), x.lines())
		}
		x.checkBounds(t)
		x.checkEvents(t)
	})
}

// FuzzRestore: what is no state is refused, and an engine goes on with whatever was taken.
func FuzzRestore(f *testing.F) {
	w := newWorld(f, 2)
	w.run(30*sec, nil)
	x := newTold()
	x.consume(w.log[:len(w.log)-2])
	data, err := x.engine.Snapshot()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"v":1,"begun":true,"closed":177236640,"sensors":[{"sensor":"a","runs":[{"run":"1","came":[{"f":1,"l":9}]}]}]}`))
	f.Add([]byte(`{"v":1,"courses":[{"course":{"campaign":"x","all":[{"sensor":"a"}]},"hosts":"AA"}],"windows":[{"index":5,"entries":[{"key":{},"entry":{}}]}]}`))
	f.Add([]byte(`{"v":1,"begun":true,"closed":3,"windows":[{"index":2,"entries":[]},{"index":5,"entries":[]},{"index":90000000,"entries":[]}]}`)) // far apart
	f.Fuzz(func(t *testing.T, data []byte) {
		x := newTold()
		if x.engine.Restore(data) != nil {
			if c := x.engine.Counters(); c != (Counters{}) {
				t.Error("something is left of what was refused")
			}
		}
		now := max(x.engine.state.Closed*period+lateness, dawn) + 5e9
		for i, d := range w.log[:min(20, len(w.log))] {
			x.engine.Consume(d.m, now+int64(i)*1e9, 0)
		}
		x.engine.Advance(now + 300e9)
		x.engine.Sensors()
		x.engine.Open()
	})
}
