package campaign

import (
	"bytes"
	"cmp"
	"math"
	"net/netip"
	"slices"

	"qsniff/internal/fleet"
	"qsniff/internal/flood/measure"
	"qsniff/internal/flood/sketch"
)

// window holds what came of ten seconds until it is closed.
type window struct {
	Index   int64  // of its end, in periods since 1970
	Late    bool   // of messages that came after the window was closed
	Opener  string // the sensor whose message came first
	Arrival int64  // when the broker got the last of its messages
	Totals  Totals
	Sources sketch.Distinct
	Sites   sketch.Distinct
	Top     networkCounts
	Entries map[entryKey]*entry
}

type entryKey struct {
	Sensor string
	Addr   netip.AddrPort
}

// entry is what a window holds of one server.
type entry struct {
	Packets    uint64  `json:"packets"`
	Sent       uint64  `json:"sent"`
	Rate       float64 `json:"rate"` // queries/s
	Base       float64 `json:"base"` // by the sensor
	Challenged float64 `json:"challenged"`
	Echoed     float64 `json:"echoed"`
	Junk       float64 `json:"junk"`             // datagrams/s that are nothing known
	Record     *record `json:"record,omitempty"` // of one that may be raised
}

// record is what the judgement of a raised server rests on.
type record struct {
	Features fleet.Features  `json:"features"`
	Sources  []byte          `json:"sources"` // packed, as is Sites
	Sites    []byte          `json:"sites"`
	Top      []fleet.Network `json:"top"`
	Form     form            `json:"form"`
}

// form is the commonest form of packets, if most have it.
type form struct {
	Protocol string `json:"protocol,omitempty"`
	Message  string `json:"message,omitempty"`
	HasKey   bool   `json:"challenge,omitempty"`
	Min      uint32 `json:"min,omitempty"`
	Max      uint32 `json:"max,omitempty"`
}

// mostForm is the share of packets from which on a form is that of a flood. Chosen: a tool sends one form,
// and usual visitors are in it.
const mostForm = 0.7

// formOf returns the form that most packets have; none if no form has most.
func formOf(forms []fleet.Form) (x form) {
	var all, most float64
	for _, f := range forms {
		all += float64(f.Packets)
		if n := float64(f.Packets); n > most {
			most = n
			x = form{cleanText(f.Protocol, fleet.MaxName), cleanText(f.Message, fleet.MaxName), f.HasKey, f.Min, f.Max}
		}
	}
	if most < mostForm*all {
		return form{Protocol: x.Protocol}
	}
	return x
}

func newWindow(index int64, isLate bool, opener string) *window {
	w := &window{Index: index, Late: isLate, Opener: opener, Top: networkCounts{}, Entries: map[entryKey]*entry{}}
	w.Totals.End, w.Totals.Late = index*period, isLate
	return w
}

// hasRoom reports whether a sensor may open one more window.
func hasRoom(list map[int64]*window, opener string) bool {
	n := 0
	for _, w := range list {
		if w.Opener == opener {
			n++
		}
	}
	return len(list) < maxWindows && n < sensorWindows
}

// windowOf returns the window that ends at end, a new one if there is none, and nil if that time is not
// believed.
func (e *Engine) windowOf(s *sensorState, end, broker int64) *window {
	st := &e.state
	if !st.HasBegun {
		st.HasBegun, st.Closed = true, (broker-lateness)/period-1
	}
	index := (end + period/2) / period
	switch late := max(broker, st.Closed*period) - end; {
	case end <= 0 || late < -maxEarly:
		st.Counters.TooEarly++
		return nil
	case late > maxLate:
		st.Counters.TooLate++
		return nil
	}
	list := st.Windows
	if index <= st.Closed {
		st.Counters.Late++
		list = st.LateWindows
	}
	w := list[index]
	if w == nil {
		if !hasRoom(list, s.Name) {
			st.Counters.WindowsRefused++
			return nil
		}
		w = newWindow(index, index <= st.Closed, s.Name)
		list[index] = w
	}
	w.Arrival = max(w.Arrival, broker)
	return w
}

// moved returns a time of a sensor by the clock of the broker.
func moved(t, offset int64) int64 {
	if t > math.MaxInt64/2 || t < 0 { // nonsense, and no sum shall overflow
		return 0
	}
	return t + offset
}

// addHost takes what a sensor reports of itself.
func (e *Engine) addHost(s *sensorState, m *fleet.Host, broker int64) {
	e.state.noteSpoken(broker)
	if broker >= s.LastHost {
		s.LastHost = broker
		s.Run, s.Program, s.Input = cleanText(m.Run, fleet.MaxName), cleanText(m.Program, fleet.MaxName), cleanText(m.Input, fleet.MaxText)
		s.Unlisted, s.Open = max(m.Unlisted, 0), max(m.Open, 0)
		s.Packets, s.Dropped, s.Unsent = m.Packets, m.Dropped, m.Unsent
	}
	w := e.windowOf(s, moved(m.Time, s.Clock.Offset), broker)
	if w == nil {
		return
	}
	t := &w.Totals
	t.Sensors++
	t.PacketsIn += min(m.Others.PacketsIn, mostCount)
	t.BytesIn += min(m.Others.BytesIn, mostCount)
	t.PacketsOut += min(m.Others.PacketsOut, mostCount)
	t.BytesOut += min(m.Others.BytesOut, mostCount)
	t.Junk += min(m.Others.Junk, mostCount)
}

// addServer takes what a sensor reports of a server.
func (e *Engine) addServer(s *sensorState, m *fleet.Server, broker int64) {
	w := e.windowOf(s, moved(m.Time, s.Clock.Offset), broker)
	if w == nil {
		return
	}
	v := e.serverOf(s, cleanServer(m.Addr), w.Index*period)
	if v == nil {
		return
	}
	k := entryKey{s.Name, v.Addr}
	old := w.Entries[k]
	if old != nil {
		e.state.Counters.Repeated++
		if m.PacketsIn <= old.Packets {
			return
		}
		e.dropRecord(old)
	}
	x := e.entryOf(m, v)
	w.Entries[k] = x
	w.addTotals(m)
}

// addTotals adds a server to the sums of the window.
func (w *window) addTotals(m *fleet.Server) {
	t := &w.Totals
	t.PacketsIn += min(m.PacketsIn, mostCount)
	t.BytesIn += min(m.BytesIn, mostCount)
	t.PacketsOut += min(m.PacketsOut, mostCount)
	t.BytesOut += min(m.BytesOut, mostCount)
	t.Junk += min(m.Junk, mostCount)
	for _, a := range m.Asked[:min(len(m.Asked), fleet.MaxKinds)] {
		for outcome, n := range a.Outcomes {
			n = min(n, mostCount)
			t.Requests += n
			if outcome == "unanswered" {
				t.Unanswered += n
			}
		}
	}
	if m.IsMeasured {
		w.Sources.Merge(&m.Sources.Distinct)
		w.Sites.Merge(&m.Sites.Distinct)
		w.Top.add(cleanNetworks(m.Top))
	}
}

// entryOf returns what a window holds of a server. A server that may count as raised when the window is
// closed has a record.
func (e *Engine) entryOf(m *fleet.Server, v *serverState) *entry {
	x := &entry{Packets: min(m.PacketsIn, mostCount), Sent: min(m.PacketsOut, mostCount)}
	x.Rate = cleanRate(float64(x.Packets) / (float64(period) / 1e9))
	if !m.IsMeasured {
		return x
	}
	f := m.Features
	if !cleanFeatures(&f) {
		e.state.Counters.Corrected++
	}
	x.Rate, x.Base, x.Junk = f[measure.Rate10], f[measure.Base], f[measure.JunkMean]
	if c := f[measure.Challenged]; !math.IsNaN(f[measure.Completion]) {
		x.Challenged, x.Echoed = c, c*f[measure.Completion]
	}
	if v.Windows >= youngWindows && x.Rate < keepFactor*v.Usual && x.Junk < max(junkLeast, keepFactor*v.UsualJunk) {
		return x
	}
	if e.records >= maxRecords {
		e.state.Counters.RecordsRefused++
		return x
	}
	e.records++
	x.Record = &record{Features: f, Sources: m.Sources.AppendPacked(nil), Sites: m.Sites.AppendPacked(nil),
		Top: cleanNetworks(m.Top), Form: formOf(m.Forms)}
	return x
}

// dropRecord frees the record of an entry.
func (e *Engine) dropRecord(x *entry) {
	if x.Record != nil {
		e.records--
		x.Record = nil
	}
}

// sortedKeys returns the keys of the entries by sensor and address: sums are made in that order.
func (w *window) sortedKeys() []entryKey {
	keys := make([]entryKey, 0, len(w.Entries))
	for k := range w.Entries {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, compareKeys)
	return keys
}

func compareKeys(a, b entryKey) int {
	if c := compareText(a.Sensor, b.Sensor); c != 0 {
		return c
	}
	return a.Addr.Compare(b.Addr)
}

// sums returns the sums of the window as they are shown.
func (w *window) sums(raised int) Totals {
	t := w.Totals
	t.Servers, t.Raised = len(w.Entries), raised
	t.Sources, t.Sites, t.Top = w.Sources.Count(), w.Sites.Count(), w.Top.top(listedNetworks)
	return t
}

// combination is how a feature of several servers is made of that of each.
type combination uint8

const (
	isAdded    combination = iota + 1
	isMean                 // weighted with the queries in the windows
	isMajority             // of yes or no: 1 where most of the queries are at servers with 1
	isMost                 // the largest
	byReplies              // mean of the servers that have it, weighted with the queries/s
	isDerived              // computed of the others, below
)

// combinations has an entry for each feature. As at a network of servers, what a source sends counts for
// each server that it asks: rates of sources are means.
var combinations = [measure.NumFeatures]combination{
	measure.RateNow: isAdded, measure.Rate10: isAdded, measure.Rate60: isAdded, measure.Base: isAdded,
	measure.Sources: isDerived, measure.Sites: isDerived, measure.Each: isDerived,
	measure.Top1: isMean, measure.Top8: isMean, measure.Top16: isMean, measure.Biggest: isMean,
	measure.Prefix: isDerived, measure.Repeat: isMean, measure.Heavy: isMean, measure.Proven: isMean,
	measure.Completion: isDerived, measure.Challenged: isDerived,
	measure.Answered: byReplies, measure.Gain: byReplies, measure.Alien: isMean,
	measure.TTL1: isDerived, measure.TTLX: isMean, measure.Low: isMean, measure.Port1: isDerived,
	measure.Print1: isMean, measure.Unreach: byReplies, measure.Pace: isDerived,

	measure.Rate3: isDerived, measure.Window: isMost, measure.OneWay: isDerived,
	measure.TTL: isDerived, measure.Port: isDerived,
	measure.BiggestCount: isMean, measure.BiggestPorts: isMean, measure.BiggestPortsEach: isMean,
	measure.BiggestProven: isMajority, measure.BiggestNAT: isMajority, measure.TopProven: isMean,
	measure.BiggestRouters: isMean, measure.ServersPort: isMean,
	measure.Lead: isMean, measure.LeadProven: isMean, measure.Hot: isMean, measure.HotRate: isMean,
	measure.HeavyCount: isAdded, measure.RepeatCount: isAdded, measure.RepeatTTL: isMean,
	measure.PortsEach: isMean, measure.Push: isMean, measure.PrefixHosts: isMost,
	measure.PrefixProven: isMean, measure.PrefixRate: isDerived,
	measure.Stubborn: isMean, measure.StubbornCount: isAdded,
	measure.Keen: isMean, measure.KeenCount: isAdded, measure.KeenRate: isMean, measure.SharedRate: isMean, measure.Keyed: isAdded, measure.OwnTTL: isMean,

	measure.Echoed: isDerived, measure.ChallengedShare: isDerived, measure.EchoLike: isMean,
	measure.EachRate: isDerived, measure.SiteShare: isDerived, measure.Refusing: isMajority, measure.GainTop: byReplies,
	measure.WindowQueries: isAdded, measure.PortQueries: isAdded, measure.PrintQueries: isAdded,

	measure.JunkNow: isAdded, measure.JunkMean: isAdded, measure.JunkShareNow: isMean, measure.JunkShareMean: isMean,
	measure.GuessesNow: isAdded, measure.Guesses3: isAdded, measure.GuessShare3: isMean,
	measure.Guesses10: isAdded, measure.GuessShare10: isMean,
	measure.NetServers: isDerived, measure.NetBusiest: isDerived,
}

// sum adds up servers, and makes features of all of them together.
type sum struct {
	features                   measure.Features
	servers                    int
	weight, replyWeight        float64 // queries in the windows; queries/s of servers with both directions
	oneWay                     float64 // weight of those with one direction
	busiest                    float64 // queries/s of the busiest server
	challenged, echoed         float64
	usualChallenged, usualEcho float64
	ttls, ports                map[float64]float64 // weight of each commonest value
	ttlServers                 map[float64]float64 // weight of the servers that have it
	sources, sites             sketch.Distinct
	networks                   networkCounts
	burstRate                  float64
}

func newSum(burstRate float64) *sum {
	return &sum{ttls: map[float64]float64{}, ports: map[float64]float64{}, ttlServers: map[float64]float64{},
		networks: networkCounts{}, burstRate: burstRate}
}

// add adds a raised server, whose usual rate is base.
func (s *sum) add(r *record, v *serverState) {
	f := (*measure.Features)(&r.Features)
	w := max(f[measure.WindowQueries], 1)
	replies := 0.0
	if f[measure.OneWay] < 1 {
		replies = max(f[measure.Rate10], 0.1)
	}
	for i, c := range combinations {
		x := f[i]
		if math.IsNaN(x) {
			continue
		}
		switch c {
		case isAdded:
			s.features[i] += x
		case isMean, isMajority:
			s.features[i] += w * x
		case isMost:
			s.features[i] = max(s.features[i], x)
		case byReplies:
			s.features[i] += replies * x
		}
	}
	s.servers++
	s.weight += w
	s.replyWeight += replies
	s.oneWay += w * f[measure.OneWay]
	s.busiest = max(s.busiest, f[measure.Rate10])
	if c := f[measure.Challenged]; c > 0 && !math.IsNaN(f[measure.Completion]) {
		s.challenged += c
		s.echoed += c * f[measure.Completion]
		s.usualChallenged += v.Challenged
		s.usualEcho += v.Echoed
	}
	s.ttls[f[measure.TTL]] += w * f[measure.TTL1]
	s.ttlServers[f[measure.TTL]] += w
	s.ports[f[measure.Port]] += f[measure.PortQueries] * f[measure.Port1]
	s.mergeSketches(r)
	s.networks.add(r.Top)
}

func (s *sum) mergeSketches(r *record) {
	var d sketch.Distinct
	if d.Unpack(r.Sources) == nil {
		s.sources.Merge(&d)
	}
	if d.Unpack(r.Sites) == nil {
		s.sites.Merge(&d)
	}
}

// measure returns the features of all servers together. base is what they usually get.
func (s *sum) measure(base float64) *measure.Features {
	f := s.features
	for i, c := range combinations {
		switch c {
		case isMean:
			f[i] /= s.weight
		case isMajority:
			f[i] = math.Round(f[i] / s.weight)
		case byReplies:
			f[i] = math.NaN()
			if s.replyWeight > 0 {
				f[i] = s.features[i] / s.replyWeight
			}
		}
	}
	f[measure.Base], f[measure.Pace] = base, math.NaN()
	f[measure.NetServers], f[measure.NetBusiest] = float64(s.servers), measure.Share(s.busiest, f[measure.Rate10])
	f[measure.OneWay] = math.Floor(s.oneWay / s.weight)
	// Signs about what a server can answer are about one server.
	f[measure.Rate3] = min(f[measure.Rate10], max(s.burstRate, s.busiest))
	s.measureSources(&f)
	s.measureCompletion(&f)
	return &f
}

// queriesOf returns how many queries came in the window.
func queriesOf(f *measure.Features) float64 { return f[measure.Rate10] * fleet.Period.Seconds() }

// measureSources sets the features of the sources of all servers.
func (s *sum) measureSources(f *measure.Features) {
	f[measure.Sources], f[measure.Sites] = s.sources.Count(), s.sites.Count()
	f[measure.SiteShare] = measure.Share(f[measure.Sites], f[measure.Sources])
	f[measure.Each] = measure.Share(queriesOf(f), f[measure.Sources]) // sketches are of this window alone
	for _, i := range []measure.Feature{measure.HeavyCount, measure.RepeatCount, measure.StubbornCount, measure.KeenCount} {
		f[i] = min(f[i], f[measure.Sources])
	}
	ttl, n := commonest(s.ttls)
	f[measure.TTL], f[measure.TTL1] = ttl, n/s.weight
	_, agree := commonest(s.ttlServers)
	f[measure.RepeatTTL] *= agree / s.weight // as if those of servers with another one were apart
	port, n := commonest(s.ports)
	f[measure.Port], f[measure.Port1] = port, measure.Share(n, f[measure.PortQueries])
	if top := s.networks.top(1); len(top) > 0 {
		f[measure.Prefix] = min(1, measure.Share(float64(top[0].Queries), queriesOf(f)))
		f[measure.PrefixRate] = f[measure.Prefix] * f[measure.Rate10] / float64(s.servers)
		s.measureVictim(f)
	}
}

// measureVictim adds up what the busiest source sends, where it is in the same network at most servers and
// proved its address at few of them: if many servers are asked a little each in the name of one victim, the
// victim gets all of their answers.
func (s *sum) measureVictim(f *measure.Features) {
	if f[measure.Prefix] >= victimShare && f[measure.Top1] >= victimShare && f[measure.BiggestProven] < 1 {
		f[measure.Biggest] = f[measure.Prefix] * f[measure.Rate10]
	}
}

// victimShare is the share of all queries from which on they are in the name of one victim. Chosen: as
// few_share.
const victimShare = 0.6

// The sources that servers usually challenge are subtracted as package measure does at one of them, from
// crowdFactor times as many as usual on, and at least minChallenged.
const (
	crowdFactor   = 1.5
	minChallenged = 60
)

// measureCompletion sets the features of challenged sources.
func (s *sum) measureCompletion(f *measure.Features) {
	f[measure.Completion], f[measure.Echoed] = math.NaN(), math.NaN()
	f[measure.Challenged] = min(s.challenged, f[measure.Sources])
	f[measure.ChallengedShare] = measure.Share(f[measure.Challenged], f[measure.Sources])
	if s.challenged <= 0 {
		return
	}
	f[measure.EachRate] = f[measure.Each] / fleet.Period.Seconds() / float64(s.servers)
	f[measure.Completion] = min(1, s.echoed/s.challenged)
	f[measure.Echoed] = f[measure.Completion]
	if s.challenged >= max(minChallenged, crowdFactor*s.usualChallenged) {
		added := max(0, measure.Share(s.echoed-s.usualEcho, s.challenged-s.usualChallenged))
		f[measure.Echoed] = min(f[measure.Completion], added)
	}
}

// commonest returns the value with the greatest weight, of equal ones the least.
func commonest(weights map[float64]float64) (value, weight float64) {
	for v, w := range weights {
		if w > weight || w == weight && v < value {
			value, weight = v, w
		}
	}
	return value, weight
}

// networkCounts counts the queries of networks, at most windowNetworks of them: as there is no room for
// all, those with the least are evicted.
type networkCounts map[fleet.Sealed]uint64

// add adds the busiest networks of a server.
func (c networkCounts) add(list []fleet.Network) {
	for i := range list {
		c[list[i].Prefix] += uint64(list[i].Queries)
	}
	if len(c) > 2*windowNetworks {
		c.shrink()
	}
}

// shrink keeps the windowNetworks busiest.
func (c networkCounts) shrink() {
	for _, x := range c.sorted()[windowNetworks:] {
		delete(c, x.prefix)
	}
}

type networkCount struct {
	prefix  fleet.Sealed
	queries uint64
}

// sorted returns all networks, the busiest first.
func (c networkCounts) sorted() []networkCount {
	list := make([]networkCount, 0, len(c))
	for p, n := range c {
		list = append(list, networkCount{p, n})
	}
	slices.SortFunc(list, func(a, b networkCount) int {
		return cmp.Or(cmp.Compare(b.queries, a.queries), bytes.Compare(a.prefix[:], b.prefix[:]))
	})
	return list
}

// top returns the n busiest as messages have them.
func (c networkCounts) top(n int) []fleet.Network {
	list := c.sorted()
	top := make([]fleet.Network, min(n, len(list)))
	for i := range top {
		top[i] = fleet.Network{Prefix: list[i].prefix, Queries: uint32(min(list[i].queries, math.MaxUint32))}
	}
	return top
}

// Claims of sensors are bounded before they are used: a thief of a sensor's credentials may send
// anything.

// mostRate and mostCount bound what is believed of one server, in a second and in a window. Chosen: more
// than a line of 400 Gbit/s carries in small packets, and sums of all servers stay exact.
const (
	mostRate  = 1e9
	mostCount = uint64(1e12)
)

// canBeUnknown reports whether a feature may be NaN: the capture could not give it.
func canBeUnknown(f measure.Feature) bool {
	switch f {
	case measure.Answered, measure.Gain, measure.Unreach, measure.Completion, measure.Echoed, measure.Pace:
		return true
	}
	return false
}

// isShare reports whether a feature is a part of a whole, or yes or no.
func isShare(f measure.Feature) bool {
	switch f {
	case measure.Top1, measure.Top8, measure.Top16, measure.Prefix, measure.Repeat, measure.Heavy, measure.Proven, measure.Completion,
		measure.Alien, measure.TTL1, measure.TTLX, measure.Low, measure.Port1, measure.Print1, measure.OneWay,
		measure.BiggestProven, measure.BiggestNAT, measure.ServersPort, measure.TopProven, measure.Hot, measure.RepeatTTL, measure.PrefixProven, measure.Stubborn, measure.Keen, measure.OwnTTL,
		measure.Echoed, measure.EchoLike, measure.Refusing, measure.JunkShareNow, measure.JunkShareMean, measure.GuessShare3, measure.GuessShare10:
		return true
	}
	return false
}

// cleanFeatures replaces numbers that no feature can have, and rounds all to what messages hold. It reports
// whether there was none to replace.
func cleanFeatures(f *fleet.Features) (wasClean bool) {
	wasClean = true
	for i, x := range f {
		most := mostRate
		if isShare(measure.Feature(i)) {
			most = 1
		}
		y := float64(float32(x))
		switch {
		case math.IsNaN(x) && canBeUnknown(measure.Feature(i)):
		case math.IsNaN(x) || x < 0:
			y, wasClean = 0, false
		case y > most:
			y, wasClean = most, x <= most*1.001 && wasClean // what floats round up
		}
		f[i] = y
	}
	return wasClean
}

// cleanRate returns a rate, or another number, that can be one.
func cleanRate(x float64) float64 {
	if math.IsNaN(x) || x < 0 {
		return 0
	}
	return min(x, mostRate)
}

// cleanText returns at most n bytes of a text. The code that shows it escapes it.
func cleanText(s string, n int) string { return string([]byte(s[:min(len(s), n)])) }

// cleanServer returns an address without a zone, which is none of a server and of any length.
func cleanServer(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}

// cleanNetworks returns a copy of a list, as long as lists are.
func cleanNetworks(list []fleet.Network) []fleet.Network {
	var all []fleet.Network
	for _, n := range list[:min(len(list), fleet.MaxTop)] {
		if !n.Prefix.IsZero() && n.Queries > 0 {
			all = append(all, n)
		}
	}
	return all
}
