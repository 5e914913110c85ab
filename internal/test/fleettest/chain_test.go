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

	"qsniff/fleet"
	"qsniff/fleet/campaign"
	"qsniff/fleet/hub"
	"qsniff/tell"
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
		if c.post.Waiting() == 0 && c.view().Behind == 0 {
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
	return &hub.View{Behind: 1}
}

// close ends everything.
func (c *chain) close() {
	c.post.Close()
	for _, h := range c.hubs {
		h.Stop()
	}
	c.rogue.conn.Close()
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
			var line struct{ Body *campaign.Campaign }
			if err := json.Unmarshal(n.Line, &line); err != nil {
				c.t.Fatalf("%s: %v", n.Line, err)
			}
			x := line.Body
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
			if n.Event == tell.Begins && x.Number != 1 {
				c.t.Errorf("%s begins with event %d", n.Thread, x.Number)
			}
		}
	}
	return all
}

// checkLosses: what a sensor made came to the hub, or is counted as lost by both ends.
func (c *chain) checkLosses() (made, lost uint64) {
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
		if counts.Dropped+counts.Refused != s.Missing+s.Lost {
			c.t.Errorf("%s: its outbox dropped %d and %d\nthe hub misses %d and %d", s.Name, counts.Dropped, counts.Refused, s.Missing, s.Lost)
		}
		made, lost = made+box.Made, lost+s.Missing+s.Lost
	}
	return made, lost
}

// TestChain: what is told is told once, and nothing is lost that is not counted, whatever happens to the
// broker, to hubs and to the network.
func TestChain(t *testing.T) {
	hosts := 200
	if testing.Short() {
		hosts = 8
	}
	KeepClock(t)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		c := newChain(t, dir, hosts, 4<<20)
		c.event(Carpets[0], 3*time.Minute)
		c.at(3*time.Minute+30*time.Second, func() { // the leader falls silent, and believes that it leads when it comes back
			c.leader().Link.Cut()
		})
		c.at(4*time.Minute+10*time.Second, func() { c.hubs[0].Link.Mend(); c.hubs[1].Link.Mend() })
		c.PlayDay(8 * time.Minute)
		c.run(8 * time.Minute)
		made, lost := c.checkLosses()
		told := c.told()
		score := Compare(c.labels, told)
		v := c.view()
		t.Logf("%d hosts, %d messages, %d lost, %d published again\n%v", hosts, made, lost, c.rogue.count, score)
		t.Logf("%+v\n%+v", v.Totals, v.Counters)
		c.close()
	})
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
