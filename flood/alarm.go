package flood

// alarm tells whether the second that ends asks for a verdict on the queries of t.
// It is cheap, and crowds raise it as well as attacks. loud tells that it rests on
// the rate of now and not on what has added up.
func (d *Detector) alarm(t *target) (alarm, loud bool) {
	lim := &d.lim
	one, ten := float64(t.sum(d.now, 1).queries), float64(t.sum(d.now, 10).queries)/10
	if one >= max(lim.BurstRate, lim.BurstFactor*t.base) {
		t.fast = min(t.fast, 250) + 1
	} else {
		t.fast = 0
	}
	if t.busy[ofQueries].in != nil { // it knows already
		t.drift = 0
	} else if d.now%10 == 0 {
		t.drift = min(max(0, t.drift+10*(ten-t.base-max(2, t.base/2))), 2*lim.DriftSum)
	}
	most := t.panes[0].most + t.panes[1].most
	all := t.panes[0].queries + t.panes[1].queries
	loud = t.fast >= 2 || one >= max(lim.SurgeRate, lim.SurgeFactor*t.base) || ten >= max(lim.SlowRate, lim.SlowFactor*t.base)
	return loud || t.drift > lim.DriftSum || most >= lim.LonePackets && 2*most >= all && ten >= lim.ReflectRate, loud
}

// How the baseline follows the rate: by a tenth of the difference a minute in the
// first two minutes, later by a hundredth.
const (
	learnFast  = 1.0 / 60
	learnSlow  = 1.0 / 600
	learnUntil = 120 // seconds
	// learnLeast and learnFactor bound what one second can teach: a flood that begins
	// slowly is not to become the baseline.
	learnLeast  = 10
	learnFactor = 4
)

// learn moves the baseline towards the second that ends.
func (t *target) learn(now int32) {
	x := min(float64(t.sum(now, 1).queries), max(learnLeast, learnFactor*t.base))
	step := learnSlow
	if now-t.born < learnUntil {
		step = learnFast
	}
	t.base += (x - t.base) * step
	late := t.sum(now-completionDelay, 1)
	h := &t.habit
	h.challenged += (float64(late.challenged) - h.challenged) * step
	h.echoed += (float64(late.echoed) - h.echoed) * step
	h.orphans += (float64(late.orphans) - h.orphans) * step
}
