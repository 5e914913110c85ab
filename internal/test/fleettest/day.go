package fleettest

import (
	"math"
	"time"
)

// Of the traffic of a usual day. Chosen: a popular
// server is looked at once a second, most are far from that.
const (
	middleVisits = 0.25 // a second
	visitSpread  = 0.8  // of the logarithm
	leastVisits  = 0.03
	mostVisits   = 2.5

	fleetMonitors = 6  // list sites that poll all servers
	panelShare    = 3  // one host in so many has a panel of its own that polls its servers
	openShare     = 4  // one server in so many gives information without a challenge
	refreshEvery  = 20 // seconds between two who refresh a list of all servers
	refreshRate   = 80 // servers a second, as browsers do
)

// Load returns how busy the fleet is at a time: a day has a quiet and a busy half, here in two
// hours, so that it changes ten times as fast as it does.
func Load(t time.Duration) float64 { return 1 - 0.4*math.Cos(2*math.Pi*t.Hours()/2) }

// PlayDay has people, monitors and browsers ask all servers until a time, as on a usual day.
func (w *World) PlayDay(until time.Duration) {
	for _, s := range w.Servers() {
		w.Poisson(1.4*s.visits, 0, until, func() {
			if w.Rand.Float64()*1.4 > Load(w.now) {
				return
			}
			n, isNew := 1, w.Rand.Float64() > 0.03 // the others are tools that know no challenge
			if w.Rand.Float64() < 0.3 {
				n = 3
			}
			w.visit(w.Regular(), s, n, isNew)
		})
	}
	for i := range fleetMonitors {
		w.poll(w.Client(monitorsFrom+i), w.Servers(), time.Duration(15+8*i)*time.Second, time.Duration(i)*time.Second, until)
	}
	for _, h := range w.Hosts {
		if h.Index%panelShare == 0 {
			w.poll(w.Client(monitorsFrom+1000+h.Index), h.Servers, 10*time.Second, time.Duration(w.Rand.Float64()*1e10), until)
		}
	}
	w.Every(1./refreshEvery, 7*time.Second, until, func(int) { w.refresh(w.Regular()) })
}

// poll has a monitor ask servers one after the other in each period.
func (w *World) poll(c Client, all []*Server, period, from, to time.Duration) {
	port := w.port()
	w.Every(float64(len(all))/period.Seconds(), from, to, func(i int) { w.ask(c, port, all[i%len(all)], infoQuery, true) })
}

// refresh has a browser ask all servers of a list, in an order of its own.
func (w *World) refresh(c Client) {
	all, port := w.Servers(), w.port()
	order := w.Rand.Perm(len(all))
	length := time.Duration(float64(len(all)) / refreshRate * 1e9)
	w.Every(refreshRate, w.now, w.now+length, func(i int) {
		if i < len(order) {
			w.ask(c, port, all[order[i]], infoQuery, true)
		}
	})
}
