package recount

import (
	"net/netip"
	"strings"
)

// Why tshark has no count of a value.
const (
	isForm    = "the form of the line"
	isVerdict = "a decision of the detector, by its rules"
	isAdvice  = "made from the rules, which the tests of internal/flood/advice load into the kernel"
	isPrior   = "an average of before, in which newer seconds count more"
)

// incidentRules has a rule for every value of an incident. A new one fails the test until it
// has one here.
var incidentRules = map[string]rule{
	"schema": {why: isForm}, "record": {why: isForm}, "id": {why: isForm}, "campaign": {why: isForm},
	"kind": {why: isVerdict}, "code": {why: isVerdict}, "level": {why: isVerdict}, "confidence": {why: isVerdict}, "missing[]": {why: isVerdict},
	"protocol": {why: isVerdict}, "class": {why: isVerdict}, "sources_error": {why: "a property of the sketch"},
	"advice": {why: isAdvice}, "advice_words[]": {why: isAdvice},
	"rules.nftables": {why: isAdvice}, "rules.iptables": {why: isAdvice}, "rules.measured": {why: isAdvice},

	"rules.cost.players": {check: checkVisitors}, "rules.cost.known_visitors": {check: checkVisitors}, "rules.cost.new_visitors": {check: checkVisitors},
	"rules.cost.players_hit": {check: checkHit("players")}, "rules.cost.known_visitors_hit": {check: checkHit("known_visitors")}, "rules.cost.new_visitors_hit": {check: checkHit("new_visitors")},

	"target":         {check: func(x *incident, v value) { x.between(value{v.path, float64(len(x.list)), nil}, 1, 1e9) }},
	"targets[]":      {check: checkTarget},
	"target_count":   {check: func(x *incident, v value) { x.same(v, distinct(x.list, receiver)) }},
	"start":          {check: checkStart},
	"end":            {check: checkEnd},
	"detected":       {check: func(x *incident, v value) { x.isInside(v) }},
	"frame":          {check: checkFrame},
	"pulses":         {check: func(x *incident, v value) { x.same(v, x.pulses()) }},
	"requests":       {check: checkRequests},
	"replies":        {check: checkReplies},
	"packets":        {check: func(x *incident, v value) { x.same(v, len(x.list)) }},
	"peak_bytes":     {check: func(x *incident, v value) { x.same(v, most(x.c.bySecond(x.list, onWire))) }},
	"peak_qps":       {check: checkPeak},
	"mean_qps":       {check: checkMean},
	"baseline_qps":   {check: checkUsual},
	"bytes_in":       {check: checkBytesIn},
	"bytes_out":      {check: checkBytesOut},
	"amplification":  {check: func(x *incident, v value) { x.near(v, ratio(x.BytesOut, x.BytesIn), 1e-9) }},
	"answered":       {check: checkAnswered},
	"proven_served":  {check: checkServed},
	"sources":        {check: checkSources},
	"succeeded":      {check: func(x *incident, v value) { x.same(v, len(x.answeredGuesses()) > 0) }},
	"challenged":     {check: checkChallenged},
	"leaked.replies": {check: checkLeak(one)},
	"leaked.bytes":   {check: checkLeak(inPayload)},

	"challenge_completion":   {check: checkCompletion},
	"leaked.to[].address":    {why: "the name of the next two"},
	"leaked.to[].replies":    {check: checkReceiver(one)},
	"leaked.to[].bytes":      {check: checkReceiver(inPayload)},
	"kinds[].type":           {check: checkType},
	"kinds[].packets":        {check: checkOfType},
	"kinds[].share":          {check: checkShare},
	"kinds[].min_length":     {check: func(x *incident, v value) { x.same(v, x.lengths(v)[0]) }},
	"kinds[].max_length":     {check: func(x *incident, v value) { x.same(v, x.lengths(v)[1]) }},
	"kinds[].length":         {check: func(x *incident, v value) { x.same(v, x.lengths(v)[0]) }},
	"kinds[].with_challenge": {check: checkWithChallenge},

	"top_sources[].address":    {why: "the name of the next four"},
	"top_sources[].count_low":  {check: func(x *incident, v value) { x.between(v, 0, float64(len(x.of(v.sibling("address").text())))) }},
	"top_sources[].count_high": {check: func(x *incident, v value) { x.between(v, float64(len(x.of(v.sibling("address").text())))-coarse, 1e9) }},
	"top_sources[].verified":   {check: checkVerified},
	"top_sources[].ports":      {check: checkPorts},
	"top_sources[].ttl":        {check: checkTTL},
	"top_window.from":          {check: func(x *incident, v value) { x.isInside(v) }},
	"top_window.to":            {check: func(x *incident, v value) { x.isInside(v) }},
	"top_window.packets":       {check: checkWindow},
	"top_prefixes[].prefix":    {why: "the name of the next three"},
	"top_prefixes[].count_low": {check: func(x *incident, v value) { x.between(v, 1, float64(len(x.ofPrefix(v)))) }},
	"top_prefixes[].count_high": {check: func(x *incident, v value) {
		x.between(v, v.sibling("count_low").number(), 1e9) // the ten seconds are those of the last verdict, which no line names
	}},
	"top_prefixes[].hosts": {check: func(x *incident, v value) { x.between(v, 1, float64(distinct(x.ofPrefix(v), source))) }},

	"evidence[].from": {check: func(x *incident, v value) { x.isInside(v) }},
	"evidence[].to":   {check: func(x *incident, v value) { x.isInside(v) }},
	"evidence[].text": {check: checkSentence},
}

// checkVisitors: those of a class are among the clients that brought a challenge back to the target. What the rules
// would have dropped of theirs is tried in the kernel, by the tests of internal/flood/advice.
func checkVisitors(x *incident, v value) {
	clients := map[netip.Addr]bool{}
	for p := range x.c.proven {
		if x.isTarget(p.server) {
			clients[p.client] = true
		}
	}
	all := v.sibling("players").number() + v.sibling("known_visitors").number() + v.sibling("new_visitors").number()
	x.between(v, 0, float64(len(clients)))
	x.between(value{"the clients of rules.cost", all, nil}, 1, float64(len(clients)))
}

// checkHit: no more clients of a class are hit than there are.
func checkHit(class string) func(*incident, value) {
	return func(x *incident, v value) { x.between(v, 0, v.sibling(class).number()) }
}

// isInside reports a time outside of the capture.
func (x *incident) isInside(v value) {
	x.t.Helper()
	if n := v.time(); n < x.c.first-1e9 || n > x.c.last+1e9 {
		x.t.Errorf("%s: %s = %s is not in the capture", x.Kind, v.path, v.text())
	}
}

func ratio(a, b int) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

func checkTarget(x *incident, v value) {
	end := netip.MustParseAddrPort(strings.TrimPrefix(v.text(), "udp/"))
	got := x.c.pick(x.whole, func(r *row) bool { return r.dst == end && r.what == query })
	x.between(value{v.path + " " + v.text(), float64(len(got)), nil}, 1, 1e9)
}

// checkStart: the first packet comes within the second that the start begins.
func checkStart(x *incident, v value) {
	if len(x.list) == 0 || x.list[0].nanos-v.time() > 1e9 && x.Kind != "open_amplifier" {
		x.t.Errorf("%s: start %s, by tshark nothing came in the second after it", x.Kind, v.text())
	}
}

// checkEnd: the last second before the end had a good part of the incident, and so had none
// after it.
func checkEnd(x *incident, v value) {
	end := v.time()
	isLoud := func(s span) bool { return 4*len(x.within(s)) >= x.peak() }
	if x.Kind == "open_amplifier" || x.Kind == "rcon_bruteforce" {
		return // that of their last packet
	}
	if !isLoud(span{end - 1e9, end}) && !isLoud(span{end - 2e9, end - 1e9}) {
		x.t.Errorf("%s: end %s, by tshark the two seconds before it were calm", x.Kind, v.text())
	}
	if isLoud(span{end, end + 1e9}) {
		x.t.Errorf("%s: end %s, by tshark the second after it is part of it", x.Kind, v.text())
	}
}

// checkFrame: the packet with that number lies in the incident and is the target's.
func checkFrame(x *incident, v value) {
	r := &x.c.rows[v.int()-1]
	if int(r.frame) != v.int() || r.nanos < x.Start.UnixNano()-1e9 && x.Kind != "open_amplifier" {
		x.t.Errorf("%s: frame %d is from before the incident", x.Kind, v.int())
	}
}

// requests returns how many requests the incident may have.
func (x *incident) requests() (low, high int) {
	if x.Kind == "reply_flood_victim" || x.Class != "" {
		return 0, 0
	}
	return x.bounds()
}

func checkRequests(x *incident, v value) {
	low, high := x.requests()
	x.between(v, float64(low), float64(high))
}

func checkReplies(x *incident, v value) {
	low, high := x.bounds()
	switch {
	case x.Kind == "reply_flood_victim":
	case x.Kind == "rcon_bruteforce" || x.Class != "":
		low, high = 0, 0
	case x.Kind == "open_amplifier":
	default:
		n := len(x.out) - len(x.c.pick(x.whole, func(r *row) bool { return x.isTarget(r.src) && r.what == part }))
		low, high = n-coarse, n
		if x.Pulses > 1 {
			low = 0
		}
	}
	x.between(v, float64(low), float64(high))
}

// checkPeak: the most in a second of the clock, or the mean where the first second is cut.
func checkPeak(x *incident, v value) {
	if x.Kind == "open_amplifier" {
		x.same(v, 0)
		return
	}
	want := float64(x.peak())
	x.between(v, want-coarse, 1.02*want) // the first second may be cut, and the mean be higher at first
}

func checkMean(x *incident, v value) {
	if x.Kind == "open_amplifier" { // a fact, without a rate
		x.same(v, 0)
		return
	}
	n := x.Requests + x.Packets
	if n == 0 {
		n = x.Replies
	}
	x.near(v, float64(n)/x.length(), 1e-6)
}

// checkUsual: what came on average before. A slow flood teaches it for the seconds in which it is
// not known to be one.
func checkUsual(x *incident, v value) {
	before := x.c.pick(span{x.c.first, x.whole.from}, func(r *row) bool { return x.isTarget(r.dst) && r.what == query })
	if x.Class != "" || x.Kind == "reply_flood_victim" || x.Kind == "rcon_bruteforce" || x.Kind == "open_amplifier" {
		x.same(v, 0)
		return
	}
	want := float64(len(before)) / (float64(x.whole.from-x.c.first) / 1e9)
	x.between(v, 0.8*want, 2*want)
}

func checkBytesIn(x *incident, v value) {
	list := x.in
	switch {
	case x.Class != "":
		x.same(v, sum(x.list, onWire))
		return
	case x.Kind == "rcon_bruteforce":
		x.same(v, 0)
		return
	case x.Kind == "reply_flood_victim":
		list = x.list
	case x.Kind == "open_amplifier": // it starts with the first answer, whose request is from before
		list = x.c.pick(span{x.whole.from - 1e9, x.whole.to}, func(r *row) bool { return x.isTarget(r.dst) && r.what == query })
	}
	x.pulsed(v, sum(list, inPayload), coarse*longest(list), x.after()*longest(list))
}

func checkBytesOut(x *incident, v value) {
	if x.Class != "" || x.Kind == "reply_flood_victim" || x.Kind == "rcon_bruteforce" {
		x.same(v, 0)
		return
	}
	x.pulsed(v, sum(x.out, inPayload), coarse*longest(x.out), x.after()*longest(x.out))
}

// pulsed checks a sum of which the first packets may be missing, and in pulses the pauses, and
// to which what came right after the end may be added.
func (x *incident) pulsed(v value, want, slack, after int) {
	if x.Pulses > 1 {
		slack = want
	}
	x.between(v, float64(want-slack), float64(want+after))
}

func longest(list []*row) (n int) {
	for _, r := range list {
		n = max(n, len(r.payload))
	}
	return n
}

func checkAnswered(x *incident, v value) {
	if x.Kind == "open_amplifier" {
		x.same(v, 1)
		return
	}
	asked := len(x.c.pick(x.whole, func(r *row) bool { return x.isTarget(r.dst) && r.what.isRequest() }))
	if x.Pulses > 1 { // what came between them is no part of it
		x.between(v, ratio(x.Replies, asked), 1)
		return
	}
	x.near(v, min(1, ratio(x.Replies, asked)), 0.01)
}

// checkServed: of the requests that bring a challenge back, those with data for the same end before it brings
// the next one, or within the seconds that an exchange waits.
func checkServed(x *incident, v value) {
	type exchange struct{ client, server netip.AddrPort }
	open, asked, served := map[exchange]int64{}, 0, 0
	for i := range x.c.rows {
		switch r := &x.c.rows[i]; {
		case r.what == echo && x.isTarget(r.dst) && r.nanos >= x.whole.from && r.nanos < x.whole.to:
			open[exchange{r.src, r.dst}] = r.nanos
			asked++
		case r.what == data && x.isTarget(r.src):
			e := exchange{r.dst, r.src}
			if at, ok := open[e]; ok && r.nanos-at <= 3e9 {
				served++
			}
			delete(open, e)
		}
	}
	x.near(v, ratio(served, asked), 0.05)
}

// checkSources: the sketches are of stretches of ten seconds, and who else asked in these is
// in them.
func checkSources(x *incident, v value) {
	if x.Kind == "rcon_bruteforce" {
		x.same(v, distinct(x.list, receiver))
		return
	}
	if x.Kind == "open_amplifier" { // a bitmap, whose error is larger
		x.near(v, float64(distinct(x.list, receiver)), 3*0.047)
		return
	}
	const error = 3 * 0.023
	low, high := distinct(x.list, source), distinct(x.within(x.panes()), source)
	x.between(v, float64(low)*(1-error)-1, float64(high)*(1+error)+1)
}

func checkWindow(x *incident, v value) {
	low, high := x.inWindow(x.window())
	if x.Kind == "rcon_bruteforce" { // the last ones are kept
		low, high = min(low, 64), min(high, 64)
	}
	x.between(v, low, high)
}
