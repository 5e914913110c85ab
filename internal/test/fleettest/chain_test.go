package fleettest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"qsniff/internal/fleet"
	"qsniff/internal/fleet/campaign"
	"qsniff/internal/fleet/hub"
	"qsniff/internal/monitor/notify"
)

// chain is a fleet with everything that is real but the packets: monitors, outboxes, a broker, hubs. It
// lives in a bubble, whose clock is that of the packets.
type chain struct {
	*Fleet
	t      *testing.T
	start  time.Time
	broker *Broker
	post   *Post
	hubs   []*Hub
	labels []*Label
	rogue  rogue
	plan   map[time.Duration]func()
}

// rogue publishes messages of sensors once more, later and in another order, with a number of the broker
// that it has not seen.
type rogue struct {
	*rand.Rand
	conn  *nats.Conn
	count int // so far
}

// newChain returns a chain whose outboxes have a spool of so many bytes each.
func newChain(t *testing.T, dir string, hosts int, spool int64) *chain {
	c := &chain{t: t, start: time.Now(), broker: NewBroker(t, dir+"/broker"), plan: map[time.Duration]func(){}}
	c.broker.Start()
	t.Cleanup(c.close)
	c.post = NewPost(t, c.broker, dir, spool)
	c.rogue = rogue{Rand: rand.New(rand.NewPCG(1, 1)), conn: c.broker.Link().Connect(t)}
	c.hubs = []*Hub{StartHub(t, c.broker), StartHub(t, c.broker)}
	c.Fleet = NewFleet(FleetOptions{World: Options{Hosts: hosts, MostServers: 8, Seed: 1, Start: c.start}, Secret: Secret(), Put: c.put})
	return c
}

// put has a message brought to the broker, and one in thirty once more.
func (c *chain) put(x *Sensor, m fleet.Message) {
	c.post.Put(x, m)
	if c.rogue.IntN(30) > 0 {
		return
	}
	line, err := fleet.Encode(m)
	if err != nil {
		c.t.Error(err)
		return
	}
	subject := fleet.Subject(fleet.DefaultPrefix, x.Host.Name, fleet.HeadOf(m).Kind)
	c.At(c.Now()+time.Duration(c.rogue.Float64()*float64(5*time.Minute)), func() {
		if c.rogue.conn.IsConnected() && c.rogue.conn.Publish(subject, line) == nil {
			c.rogue.count++
		}
	})
}

// at has something done to the machines at a time.
func (c *chain) at(t time.Duration, do func()) { c.plan[t] = do }

// event has an event happen.
func (c *chain) event(e *Event, at time.Duration) { c.labels = append(c.labels, c.Labelled(e, at)) }

// run lets packets and everything else go on until a time.
func (c *chain) run(until time.Duration) {
	for t := time.Second; t <= until; t += time.Second {
		time.Sleep(time.Until(c.start.Add(t)))
		if do := c.plan[t]; do != nil {
			do()
		}
		c.Pass(t, nil)
	}
	for range 600 { // until all that waits is there
		time.Sleep(time.Second)
		if c.post.Waiting() == 0 && c.view().Unread == 0 {
			break
		}
	}
	time.Sleep(time.Minute) // windows close
}

// view returns what the leading hub shows.
func (c *chain) view() *hub.View {
	for _, h := range c.hubs {
		if v := h.View(); v.Leads && v.Leader.ID == h.ID() && h.Health() == nil {
			return v
		}
	}
	return &hub.View{Unread: 1}
}

// close ends everything.
func (c *chain) close() {
	if c.post != nil {
		c.post.Close()
	}
	for _, h := range c.hubs {
		h.Stop()
	}
	if c.rogue.conn != nil {
		c.rogue.conn.Close()
	}
	c.broker.Stop()
}

// notes returns the campaigns that were told of, by all hubs that there were, each as it was told last,
// and checks that each event of them was told once, in order.
func (c *chain) notes() (all []*campaign.Campaign) {
	c.t.Helper()
	seen := map[string]int{}
	byID := map[string]int{}
	for _, h := range c.hubs {
		for _, n := range h.Told.Notes() {
			if n.Record != "campaign" {
				continue
			}
			var line struct{ Body hub.Shown }
			if err := json.Unmarshal(n.Line, &line); err != nil {
				c.t.Fatalf("%s: %v", n.Line, err)
			}
			x := line.Body.Campaign
			key := fmt.Sprintf("%s/%s/%d", n.Thread, n.Event, x.Number)
			if seen[key]++; seen[key] > 1 {
				c.t.Errorf("%s was told %d times", key, seen[key])
			}
			i, isKnown := byID[n.Thread]
			if !isKnown {
				i = len(all)
				byID[n.Thread] = i
				all = append(all, x)
			}
			if x.Number >= all[i].Number {
				all[i] = x
			}
			if n.Event == notify.Begins && x.Number != 1 {
				c.t.Errorf("%s begins with event %d", n.Thread, x.Number)
			}
		}
	}
	return all
}

// checkLosses: what a sensor made came to the hub, or is counted as lost by both ends. saved counts
// messages that an outbox dropped, and that came all the same as they had been published once more.
func (c *chain) checkLosses() (made, lost, saved uint64) {
	c.t.Helper()
	v := c.view()
	for _, x := range c.Sensors {
		box := c.post.Box(x.Host)
		i := slices.IndexFunc(v.Sensors, func(s campaign.Sensor) bool { return s.Name == x.Host.Name })
		if i < 0 {
			c.t.Errorf("%s is unknown to the hub", x.Host.Name)
			continue
		}
		s, counts := &v.Sensors[i], box.Counts()
		if s.Messages+s.Missing+s.Lost != box.Made {
			c.t.Errorf("%s: the hub has %d, misses %d, gave up %d\nthe sensor made %d", s.Name, s.Messages, s.Missing, s.Lost, box.Made)
		}
		if counts.Dropped+counts.Refused < s.Missing+s.Lost {
			c.t.Errorf("%s: its outbox dropped %d and %d\nthe hub misses %d and %d", s.Name, counts.Dropped, counts.Refused, s.Missing, s.Lost)
		}
		made, lost, saved = made+box.Made, lost+s.Missing+s.Lost, saved+counts.Dropped+counts.Refused-s.Missing-s.Lost
	}
	return made, lost, saved
}

// TestChain: what is told is told once, and nothing is lost that is not counted, whatever happens to the
// broker, to hubs and to the network.
func TestChain(t *testing.T) {
	if testing.Short() {
		playChain(t, 6, 7*time.Minute)
		return
	}
	playChain(t, longHosts(t), 52*time.Minute)
}

// playChain plays as much of the plan as there is time for.
func playChain(t *testing.T, hosts int, until time.Duration) {
	KeepClock(t)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		c := newChain(t, dir, hosts, 4<<20)
		c.makePlan(until)
		c.PlayDay(until)
		c.run(until)
		made, lost, saved := c.checkLosses()
		score, v := Compare(c.labels, c.told()), c.view()
		t.Logf("%d hosts, %d servers, %v: %d messages, %d lost and counted, %d published again\n%v", hosts, len(c.Servers()), until, made, lost, c.rogue.count, score)
		t.Logf("the hub: %+v\n%+v", v.Totals, v.Counters)
		if found, all := score.Recall(); found < all {
			t.Errorf("%d of %d attacks were told of", found, all)
		}
		if len(score.False) > 0 {
			t.Errorf("told, and not so: %+v", score.False)
		}
		if until > 50*time.Minute && lost == 0 {
			t.Error("a spool that is too small lost nothing")
		}
		if v.Counters.Messages != made-lost {
			t.Errorf("the hub took %d messages\nthe sensors made %d, of which %d were lost", v.Counters.Messages, made, lost)
		}
		if got := v.Counters.Duplicates; got+saved != uint64(c.rogue.count) {
			t.Errorf("the hub knew %d messages again, and %d came so only\n%d were published again", got, saved, c.rogue.count)
		}
		// What the hub that is killed, or that loses the broker, told in its last second may be uncertain.
		if v.Totals.Told+v.Totals.Uncertain != v.Totals.Events || 10*v.Totals.Uncertain > v.Totals.Events || v.Pending > 0 {
			t.Errorf("%d events, %d told, %d uncertain, %d pending", v.Totals.Events, v.Totals.Told, v.Totals.Uncertain, v.Pending)
		}
		if got := uint64(c.countNotes()); got < v.Totals.Told || got > v.Totals.Told+v.Totals.Uncertain {
			t.Errorf("%d notes were passed on\nthe hubs count %d and %d uncertain", got, v.Totals.Told, v.Totals.Uncertain)
		}
	})
}

// makePlan has everything go wrong, one after the other.
func (c *chain) makePlan(until time.Duration) {
	event := func(at time.Duration, e *Event) {
		if at+e.Length+2*time.Minute <= until {
			c.event(e, at)
		}
	}
	// The leader falls silent in the middle of a campaign, and believes that it leads when it comes back.
	event(3*time.Minute, Carpets[0])
	var mute *Hub
	c.at(3*time.Minute+30*time.Second, func() { mute = c.leader(); mute.Link.Cut() })
	c.at(4*time.Minute+10*time.Second, func() { mute.Link.Mend() })
	// The leader is killed, and another hub is started elsewhere.
	event(8*time.Minute, Carpets[5])
	c.at(8*time.Minute+40*time.Second, func() { c.leader().Kill() })
	c.at(9*time.Minute, func() { c.hubs = append(c.hubs, StartHub(c.t, c.broker)) })
	// A quarter of the hosts are cut off for ten minutes, and attacked with the others meanwhile.
	away := c.Hosts[:len(c.Hosts)/4]
	c.at(12*time.Minute, func() { c.cut(away) })
	event(14*time.Minute, Carpets[0])
	c.at(22*time.Minute, func() { c.mend(away) })
	// The broker is killed in the middle of a campaign, and comes back with what it had.
	event(26*time.Minute, Carpets[1])
	c.at(26*time.Minute+30*time.Second, c.broker.Stop)
	c.at(28*time.Minute, c.broker.Start)
	// One attack after the other at several hosts, while programs are restarted there.
	event(32*time.Minute, Floods[1])
	c.at(31*time.Minute, func() { c.Sensors[3].Restart(c.opt.Secret, c.put) })
	// A crowd, and a leader that ends in order.
	event(36*time.Minute, Calm[0])
	c.at(36*time.Minute+20*time.Second, func() { c.leader().Stop() })
	c.at(37*time.Minute, func() { c.hubs = append(c.hubs, StartHub(c.t, c.broker)) })
	// A host is cut off for so long that its spool is full.
	last := []*Host{slices.MaxFunc(c.Hosts[len(c.Hosts)/4:], func(a, b *Host) int { return len(a.Servers) - len(b.Servers) })}
	c.at(9*time.Minute+30*time.Second, func() { c.cut(last) })
	c.at(48*time.Minute, func() { c.mend(last) })
}

func (c *chain) cut(hosts []*Host) {
	for _, h := range hosts {
		c.post.Box(h).Link.Cut()
	}
}

func (c *chain) mend(hosts []*Host) {
	for _, h := range hosts {
		c.post.Box(h).Link.Mend()
	}
}

// countNotes returns how many notes all hubs passed on.
func (c *chain) countNotes() (n int) {
	for _, h := range c.hubs {
		n += len(h.Told.Notes())
	}
	return n
}

// leader returns the hub that leads.
func (c *chain) leader() *Hub {
	for _, h := range c.hubs {
		if v := h.View(); v.Leads && v.Leader.ID == h.ID() && h.Health() == nil {
			return h
		}
	}
	c.t.Fatal("no hub leads")
	return nil
}

// told returns what the hubs told.
func (c *chain) told() (all []Told) {
	for _, x := range c.notes() {
		all = append(all, ToldOf(x, c.start))
	}
	return all
}
