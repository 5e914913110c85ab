package pipeline

import (
	"cmp"
	"slices"

	"qsniff/netlayer"
	"qsniff/report"
)

// Why a UDP datagram held no message, in the words of the summary.
const (
	whyUnknown    = "UDP of other protocols"
	whyUnbelieved = "UDP that could be a query, with nothing to confirm it"
	whyICMP       = "ICMP about other traffic"
	whyCopy       = "copies of packets that another interface, or a mirror port, captured too"
	whyTCP        = "TCP of other protocols"
	whyTCPEmpty   = "TCP without data, in connections of other protocols"
	whyGame       = "split message of the running game"
	whyNoFirst    = "IP datagram whose first fragment is missing"
	whyRefused    = "IP fragment that contradicts others or itself"
)

// summary says what the batches merged so far came to.
func (f *fold) summary() report.Run {
	r := &f.reader
	run := report.Run{Packets: r.packets, Bytes: r.bytes, First: r.first, Last: r.last,
		Read: r.source.Bytes, Size: r.source.Size, Messages: f.messages, Backwards: r.backwards, Dropped: r.source.Dropped, Doubled: f.watching.mirror.skipped}
	for k, n := range f.types {
		tc := report.TypeCount{Protocol: k.proto.Name, Count: n}
		if k.typ != nil {
			tc.Message = k.typ.Name
		}
		addType(&run, tc)
	}
	slices.SortFunc(run.Types, func(a, b report.TypeCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Message, b.Message))
	})
	for s := netlayer.OK + 1; s < netlayer.NumStops; s++ {
		why := s.String()
		if s == netlayer.UnknownLink {
			why = "of link type " + netlayer.LinkName(r.link) + ", which is not decoded"
		}
		addReason(&run, why, r.stops[s])
	}
	if f.findings != nil {
		run.HostsForgotten = f.findings.hosts.Evicted()
	}
	var n totals
	for i := range f.parts {
		p := &f.parts[i]
		run.FlowsForgotten += p.flowsEvicted
		run.ExchangesForgotten += p.exchangesEvicted
		n.unknown, n.unbelieved = n.unknown+p.unknown, n.unbelieved+p.unbelieved
		n.game, n.icmp = n.game+p.game, n.icmp+p.icmp
		n.tcpOther, n.tcpEmpty = n.tcpOther+p.tcpOther, n.tcpEmpty+p.tcpEmpty
	}
	addReason(&run, whyCopy, r.copies)
	addReason(&run, whyUnknown, n.unknown)
	addReason(&run, whyUnbelieved, n.unbelieved)
	addReason(&run, whyGame, n.game)
	addReason(&run, whyICMP, n.icmp)
	addReason(&run, whyTCP, n.tcpOther)
	addReason(&run, whyTCPEmpty, n.tcpEmpty)
	lost := r.frags.Expired + r.frags.Evicted + r.frags.Ended + r.frags.Overlaps + r.frags.TooMany
	addReason(&run, whyNoFirst, lost-min(lost, r.abandoned))
	addReason(&run, whyRefused, r.frags.Bad+r.frags.TooLong)
	slices.SortStableFunc(run.Skipped, func(a, b report.Reason) int { return cmp.Compare(b.Count, a.Count) })
	f.joining(&run.Joining)
	return run
}

// addType counts types of one name as one: protocols tell requests of one name
// apart by what they ask for.
func addType(run *report.Run, tc report.TypeCount) {
	for i := range run.Types {
		if t := &run.Types[i]; t.Protocol == tc.Protocol && t.Message == tc.Message {
			t.Count += tc.Count
			return
		}
	}
	run.Types = append(run.Types, tc)
}

func addReason(run *report.Run, why string, n uint64) {
	if n > 0 {
		run.Skipped = append(run.Skipped, report.Reason{Why: why, Count: n})
	}
}

func (f *fold) joining(j *report.Joining) {
	n := &f.reader.frags
	j.IPFragments, j.IPJoined = n.Fragments, n.Joined
	j.IPAbandoned = n.Expired + n.Evicted + n.Ended + n.Overlaps + n.TooMany
	j.IPRefused = n.Bad + n.TooLong
	j.Evicted = n.Evicted
	for i := range f.parts {
		p := &f.parts[i]
		c := &p.split
		j.SplitSets += c.Sets
		j.SplitComplete += c.Complete
		j.SplitMissing += c.Incomplete
		j.Compressed += c.Compressed
		j.BadBzip2 += c.BadBzip2
		j.Bombs += c.TooLarge + c.Refused
		j.FragmentedComplete += p.joined.Complete
		j.FragmentedMissing += p.joined.Incomplete
		j.Evicted += c.Evicted + p.joined.Evicted
		j.TCPGivenUp += p.sessionsEvicted
		j.TCPConnections += p.tcp.Conns
		j.TCPGaps += p.tcp.Gaps + p.tcp.Cut
		j.TCPEvicted += p.tcp.Evicted
		j.TCPExpired += p.tcp.Expired
		j.TCPDropped += p.tcp.GivenUp
	}
}
