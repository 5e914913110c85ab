package campaign

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	gocmp "github.com/google/go-cmp/cmp"

	"qsniff/internal/fleet"
)

// played are the messages of scenarios, which several tests deliver, each in its own way.
var played = map[string][]delivery{}

// eachDelivered runs a test with the messages of each of some scenarios.
func eachDelivered(t *testing.T, f func(t *testing.T, sc *scenario, log []delivery)) {
	for _, name := range []string{"carpet of forged addresses", "carpet of junk", "players join at all servers", "a crowd after an update", "the same bots at two hosts", "forged addresses that walk", "the same reflectors"} {
		i := slices.IndexFunc(scenarios, func(sc scenario) bool { return sc.name == name })
		t.Run(name, func(t *testing.T) {
			if played[name] == nil {
				played[name] = scenarios[i].messages(t).log
			}
			f(t, &scenarios[i], slices.Clone(played[name]))
		})
	}
}

// TestDelivery: messages that come twice, or in another order within the time that windows are open for,
// give the same events, and so does an engine that was saved and restored at any time.
func TestDelivery(t *testing.T) {
	eachDelivered(t, func(t *testing.T, sc *scenario, log []delivery) {
		want := deliver(log).lines()
		r := rand.New(rand.NewPCG(1, 2))
		var twice, mixed []delivery
		for _, d := range log {
			again := d
			again.broker += int64(r.IntN(60e9))
			twice = append(twice, d, again)
			d.broker += int64(r.IntN(12e9))
			d.sent = d.broker - 200e6
			mixed = append(mixed, d)
		}
		x := deliver(twice)
		if d := gocmp.Diff(want, x.lines()); d != "" {
			t.Errorf("delivered twice:\n%s", d)
		}
		if c := x.engine.Counters(); c.Duplicates != uint64(len(log)) || c.Lost+c.MissingNow != 0 {
			t.Errorf("%d duplicates of %d messages, %d lost", c.Duplicates, len(log), c.Lost+c.MissingNow)
		}
		if d := gocmp.Diff(want, deliver(mixed).lines()); d != "" {
			t.Errorf("delivered in another order:\n%s", d)
		}
	})
}

// TestRareAdvance: how often time is told changes nothing.
func TestRareAdvance(t *testing.T) {
	eachDelivered(t, func(t *testing.T, sc *scenario, log []delivery) {
		x, last := newTold(), int64(0)
		for _, d := range log {
			if d.broker-last >= 7e9 {
				x.engine.Advance(d.broker)
				last = d.broker
			}
			x.engine.Consume(d.m, d.broker, d.sent)
		}
		x.finish(log)
		if d := gocmp.Diff(deliver(log).lines(), x.lines()); d != "" {
			t.Errorf("every seven seconds:\n%s", d)
		}
	})
}

// TestRestore: an engine that is saved and restored again and again tells the same, and ends in the same state.
func TestRestore(t *testing.T) {
	eachDelivered(t, func(t *testing.T, sc *scenario, log []delivery) {
		want := deliver(log)
		log = slices.Clone(log)
		slices.SortStableFunc(log, func(a, b delivery) int { return cmp.Compare(a.broker, b.broker) })
		x := newTold()
		for part := range slices.Chunk(log, 97) {
			x.consume(part)
			x.restart(t)
		}
		x.finish(log)
		if d := gocmp.Diff(want.lines(), x.lines()); d != "" {
			t.Errorf("restored:\n%s", d)
		}
		if d := gocmp.Diff(want.sensors, x.sensors); d != "" {
			t.Errorf("sensors:\n%s", d)
		}
		if d := gocmp.Diff(want.engine.Counters(), x.engine.Counters(), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("counters:\n%s", d)
		}
		a, err := want.engine.Snapshot()
		b, err2 := x.engine.Snapshot()
		if d := gocmp.Diff(string(a), string(b)); d != "" || err != nil || err2 != nil {
			t.Errorf("the state: %v, %v\n%s", err, err2, d)
		}
	})
}

// TestUsualJunk: what servers get always is no carpet, also after a restart.
func TestUsualJunk(t *testing.T) {
	w := newWorld(t, 8)
	w.run(calm+60*sec, func() { w.everyServer(func(h *host, s int) { h.junk(8, h.servers[s]) }) })
	x := newTold()
	for part := range slices.Chunk(w.log, 97) {
		x.consume(part)
		x.restart(t)
	}
	x.finish(w.log)
	if len(x.campaigns) > 0 {
		t.Errorf("told:\n%s", strings.Join(x.lines(), "\n"))
	}
}

// restart continues with an engine that was restored from the state of the one before.
func (x *told) restart(t testing.TB) {
	t.Helper()
	data, err := x.engine.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	y := New(x.engine.options)
	if err := y.Restore(data); err != nil {
		t.Fatal(err)
	}
	again, err := y.Snapshot()
	if err != nil || string(data) != string(again) {
		t.Fatalf("the restored state is another one: %v\n%s", err, gocmp.Diff(string(data), string(again)))
	}
	x.engine = y
}

// TestLate: where the network between some hosts, or all, and the broker is cut, and they deliver ten minutes later
// what they had to say, the same campaigns are found, each once.
func TestLate(t *testing.T) {
	const cut = 10 * time.Minute
	eachDelivered(t, func(t *testing.T, sc *scenario, log []delivery) {
		for name, isCut := range map[string]func(sensor string) bool{
			"all":  func(string) bool { return true },
			"half": func(sensor string) bool { return sensor > "host-04" },
			"two":  func(sensor string) bool { return sensor == "host-01" || sensor == "host-07" },
		} {
			for _, from := range []time.Duration{calm - 20*sec, calm + 30*sec} {
				x := deliver(backfilled(log, isCut, dawn+int64(from), dawn+int64(from+cut)))
				x.check(t, sc, cut)
				if c := x.engine.Counters(); c.Lost+c.MissingNow != 0 || c.Late == 0 {
					t.Errorf("%d lost, %d late", c.Lost+c.MissingNow, c.Late)
				}
				if t.Failed() {
					t.Fatalf("%s cut at %v:\n%v", name, from, x.lines())
				}
			}
		}
	})
}

// backfilled returns messages as they come when some sensors are cut off from the broker for a time: at the
// end of it what waited comes in order, 200 messages a second. Hosts have nothing to tell then, but for that they are there.
func backfilled(log []delivery, isCut func(sensor string) bool, from, to int64) (all []delivery) {
	spooled := map[string]int64{}
	seqs := map[string]uint64{}
	last := int64(0)
	for _, d := range log {
		h := fleet.HeadOf(d.m)
		seqs[h.Sensor] = max(seqs[h.Sensor], h.Seq)
		last = max(last, d.broker)
		if isCut(h.Sensor) && d.broker >= from && d.broker < to {
			spooled[h.Sensor]++
			d.broker = to + spooled[h.Sensor]*5e6
			d.sent = d.broker - 1e6
		}
		all = append(all, d)
	}
	for at := (last/period + 1) * period; at < to+int64(time.Minute); at += period {
		for i := range 8 {
			name := fmt.Sprintf("host-%02d", i+1)
			seqs[name]++
			m := &fleet.Host{Head: fleet.Head{Version: 1, Kind: fleet.KindHost, Sensor: name, Run: "5f0c", Seq: seqs[name], Time: at}}
			d := delivery{m, at + 200e6, at}
			if isCut(name) && d.broker >= from && d.broker < to {
				spooled[name]++
				d.broker = to + spooled[name]*5e6
				d.sent = d.broker - 1e6
			}
			all = append(all, d)
		}
	}
	return all
}
