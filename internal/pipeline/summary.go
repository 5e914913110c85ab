package pipeline

import (
	"cmp"
	"slices"

	"qsniff/capture"
	"qsniff/capture/packet"
	"qsniff/internal/render/tally"
	"qsniff/reassembly"
	"qsniff/reassembly/ipfrag"
	"qsniff/reassembly/split"
	"qsniff/reassembly/tcpstream"
)

// Why a UDP datagram held no message, in the words of the summary.
const (
	whyUnknown    = "UDP of other protocols"
	whyEcho       = "UDP that sends a request back"
	whyUnbelieved = "UDP that could be a query, with nothing to confirm it"
	whyICMP       = "ICMP about other traffic"
	whyCopy       = "copies of packets that another interface, or a mirror port, captured too"
	whyTCP        = "TCP of other protocols"
	whyTCPEmpty   = "TCP without data, in connections of other protocols"
	whyGame       = "split message of the running game"
	whyNoFirst    = "IP datagram whose first fragment is missing"
	whyRefused    = "IP fragment that contradicts others or itself"
)

// summary returns the counters of the batches merged so far.
func (f *fold) summary() tally.Run {
	r := &f.reader
	run := tally.Run{Packets: r.packets, Bytes: r.bytes, First: r.first, Last: r.last,
		Read: r.source.Bytes, Size: r.source.Size, Messages: f.messages, Unmatched: f.unmatched, Undecided: f.undecided(),
		Backwards: r.backwards, Merged: r.merged, Segments: r.segments, Proxied: r.proxied, ProxyEvicted: r.proxyEvicted,
		Dropped: r.source.Dropped, Copies: r.copies, CopiesAt: copiesAtOf(&f.copiesAt),
		Samples: r.samples, SampledFor: r.sampledFor, NotSampled: r.notSampled,
		Translations: f.translations,
		Skews:        f.skews,
		Clock:        tally.Clock{Steps: f.steps.count, Frame: f.steps.firstFrame, Nanos: f.steps.firstNanos, First: f.steps.firstBy, All: f.steps.by, Early: f.steps.early},
		Gaps:         r.source.Gaps, GapBytes: uint64(r.source.Skipped)}
	for _, c := range f.types {
		tc := tally.TypeCount{Protocol: c.key.proto.Name, Count: c.n}
		if c.key.typ != nil {
			tc.Message = c.key.typ.Name
		}
		addType(&run, tc)
	}
	slices.SortFunc(run.Types, func(a, b tally.TypeCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Message, b.Message))
	})
	for s := packet.OK + 1; s < packet.NumStops; s++ {
		if s == packet.UnknownLink {
			addHinted(&run, "of link type "+packet.LinkName(r.link)+", which is not decoded", packet.LinkHint(r.link), r.stops[s])
			continue
		}
		addReason(&run, s.String(), r.stops[s])
	}
	if f.findings != nil {
		run.HostsEvicted = f.findings.evicted()
	}
	n := f.addCounters(&run)
	for u := range packet.NumUnread {
		addUnread(&run, u, r.unread[u]+n.unread[u])
	}
	addReason(&run, whyCopy, r.copies)
	addReason(&run, whyUnknown, n.unknown)
	addReason(&run, whyEcho, n.echoes)
	addReason(&run, whyUnbelieved, n.unbelieved)
	addReason(&run, whyGame, n.game)
	addReason(&run, whyICMP, n.icmp)
	addReason(&run, whyTCP, n.tcpOther)
	addReason(&run, whyTCPEmpty, n.tcpEmpty)
	lost := r.frags.Abandoned()
	addReason(&run, whyNoFirst, lost-min(lost, r.abandoned))
	addReason(&run, whyRefused, r.frags.Refused())
	slices.SortStableFunc(run.Skipped, func(a, b tally.Reason) int { return cmp.Compare(b.Count, a.Count) })
	return run
}

// undecided returns of how many messages or exchanges it remained open whether Config.Filter
// chooses them.
func (f *fold) undecided() (n uint64) {
	if f.outcomes != nil {
		n = f.outcomes.undecided
	}
	if f.filter != nil && f.filter.Outcomes != nil {
		n += f.filter.Outcomes.unkept
	}
	return n
}

// addType adds the count of a type. Types of one name count as one: some protocols have
// several that differ in what they ask for.
func addType(run *tally.Run, tc tally.TypeCount) {
	for i := range run.Types {
		if t := &run.Types[i]; t.Protocol == tc.Protocol && t.Message == tc.Message {
			t.Count += tc.Count
			return
		}
	}
	run.Types = append(run.Types, tc)
}

func addReason(run *tally.Run, why string, n uint64) {
	if n > 0 {
		run.Skipped = append(run.Skipped, tally.Reason{Why: why, Count: n})
	}
}

func addHinted(run *tally.Run, why, hint string, n uint64) {
	if n > 0 {
		run.Skipped = append(run.Skipped, tally.Reason{Why: why, Count: n, Hint: hint})
	}
}

// addUnread adds what has a name and is not read.
func addUnread(run *tally.Run, u packet.Unread, n uint64) {
	isTunnel, isEncrypted := u.IsTunnel()
	switch {
	case isEncrypted:
		addHinted(run, u.String()+", which is encrypted", "capture where it is decrypted: -i with the interface of the tunnel", n)
	case isTunnel:
		addHinted(run, u.String()+", a tunnel that is not read", "capture inside it: -i with the interface where it ends", n)
	default:
		addReason(run, u.String(), n)
	}
}

// addCounters adds the counters of the partitions' stages to run. It returns the counts
// of packets that held no message, for which the summary has reasons.
func (f *fold) addCounters(run *tally.Run) (n totals) {
	run.IP = f.reader.frags
	for i := range f.parts {
		p := &f.parts[i]
		run.Unmatched += p.unmatched
		run.FlowsEvicted += p.flowsEvicted
		run.ExchangesEvicted += p.exchangesEvicted
		run.VisitsEvicted += p.visitsEvicted
		run.SessionsEvicted += p.sessionsEvicted
		tally.Add(&run.Split, &p.split)
		tally.Add(&run.Pairing, &p.pairing)
		tally.Add(&run.TCP, &p.tcp)
		run.Joined.Add(&p.joined)
		n.unknown, n.unbelieved, n.echoes = n.unknown+p.unknown, n.unbelieved+p.unbelieved, n.echoes+p.echoes
		for u := range p.unread {
			n.unread[u] += p.unread[u]
		}
		n.game, n.icmp = n.game+p.game, n.icmp+p.icmp
		n.tcpOther, n.tcpEmpty = n.tcpOther+p.tcpOther, n.tcpEmpty+p.tcpEmpty
	}
	return n
}

// copiesAtOf returns the places with most copies in words.
func copiesAtOf(all *copiesAt) (list []tally.CopiesAt) {
	for i := range all {
		if x := &all[i]; x.copies > 0 {
			list = append(list, tally.CopiesAt{Place: x.at.words(x.name, x.times), Count: x.copies})
		}
	}
	return list
}

// totals are a partition's running counters.
type totals struct {
	unknown    uint64                   // datagrams that no protocol claims
	echoes     uint64                   // datagrams that send a request back
	unmatched  uint64                   // messages that the filter does not choose and that did not reach the fold
	unbelieved uint64                   // datagrams that could be messages, which nothing confirmed
	game       uint64                   // split messages that are game traffic
	icmp       uint64                   // ICMP errors that quote no message
	unread     [packet.NumUnread]uint64 // datagrams of tunnels that are not read
	// sessionsEvicted counts open connections whose session was evicted for another.
	sessionsEvicted uint64
	tcpOther        uint64 // segments with data of connections of other protocols
	tcpEmpty        uint64 // segments without data of such connections
	flowsEvicted    uint64
	// exchangesEvicted counts exchanges that were evicted before they were over.
	exchangesEvicted uint64
	// visitsEvicted counts visits of clients that were evicted before they were over.
	visitsEvicted uint64
	split         split.Counters
	pairing       tally.Pairing
	joined        reassembly.JoinCounters
	tcp           tcpstream.Counters
}

// readerTotals are the reader's running counters.
type readerTotals struct {
	packets, bytes uint64
	copies         uint64 // packets dropped because they were captured before
	samples        uint64 // packets that stand for several
	sampledFor     uint64 // how many these stand for
	notSampled     uint64 // samples and records of sFlow without the start of a packet
	merged         uint64 // frames that held several datagrams because of offload
	segments       uint64 // these datagrams
	proxyEvicted   uint64 // what was known of proxies and made room
	proxied        uint64 // datagrams of clients, or to clients, that a proxy forwarded with a header
	backwards      uint64 // packets older than one before
	first, last    int64  // earliest and latest time stamp
	stops          [packet.NumStops]uint64
	unread         [packet.NumUnread]uint64 // of stops: those that have a name
	link           uint16                   // the last link type that is not decoded
	frags          ipfrag.Counters
	abandoned      uint64 // sets of fragments that were given up and of which there is a start
	source         capture.Stats
}
