package campaign

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"qsniff/internal/fleet"
	"qsniff/internal/flood/measure"
	"qsniff/internal/flood/sketch"
)

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
