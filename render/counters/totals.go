package counters

// totals lists the counters that stats prints in tables and sentences of its own.
var totals = []Entry{
	{Name: "packets", Group: Totals, IsAlwaysInJSON: true, Doc: "Packets that were read.",
		Get: func(r *Result) uint64 { return r.Run.Packets }},
	{Name: "bytes", Group: Totals, IsAlwaysInJSON: true, Doc: "Bytes of them that were captured.",
		Get: func(r *Result) uint64 { return r.Run.Bytes }},
	{Name: "unmatched", Group: Totals, Label: "{: message does|messages do} not match the filter", Doc: "Messages that the filter of -Y does not choose; nothing else counts them.",
		Get: func(r *Result) uint64 { return r.Run.Unmatched }},

	{Name: "requests", Group: Requests, IsAlwaysInJSON: true, Doc: "Requests to servers.",
		Get: func(r *Result) uint64 { return r.Stats.Requests }},
	{Name: "replies", Group: Requests, IsAlwaysInJSON: true, Doc: "Replies of servers, challenges among them.",
		Get: func(r *Result) uint64 { return r.Stats.Replies }},
	{Name: "answered", Group: Requests, IsAlwaysInJSON: true, Doc: "Requests that were answered.",
		Get: func(r *Result) uint64 { return r.Stats.Answered }},
	{Name: "unanswered", Group: Requests, IsAlwaysInJSON: true, Doc: "Requests that were not, though the whole wait lies inside the capture.",
		Get: func(r *Result) uint64 { return r.Stats.Unanswered }},
	{Name: "late", Group: Requests, IsAlwaysInJSON: true, Doc: "Answers after the end of the wait.",
		Get: func(r *Result) uint64 { return r.Stats.Late }},

	{Name: "servers_not_listed", Group: Servers, IsAlwaysInJSON: true, Doc: "Servers that are not in the list, because it is full.",
		Get: func(r *Result) uint64 { return r.Stats.ServersUnlisted }},
	{Name: "servers_forgotten", Group: Servers, IsAlwaysInJSON: true, Doc: "Times that a server was evicted from the table for another one.",
		Get: func(r *Result) uint64 { return r.Stats.ServersEvicted }},
}

// input lists the counters of faults of the input, and of evictions from tables.
var input = []Entry{
	{Name: "packets_lost", Group: Input, Hint: "the capturing program lost {: packet}: what looks unanswered may not have been",
		Doc: "Packets that the capturing program says it lost.",
		Get: func(r *Result) uint64 { return r.Run.Dropped }},
	{Name: "doubled", Group: Input,
		Doc: "Packets that were captured before at another place (interface, direction, file), or more than once at one: nothing counts them.",
		Get: func(r *Result) uint64 { return r.Run.Copies }},
	{Name: "merged", Group: Input, Hint: "{: frame} held several datagrams, merged by offload on the capturing host: each is counted, with the time of its frame; " +
		"ethtool -K IFACE gro off tx-udp-segmentation off has them captured one by one",
		Doc: "Frames that held several UDP datagrams, which offload on the capturing host had merged.",
		Get: func(r *Result) uint64 { return r.Run.Merged }},
	{Name: "segments", Group: Input, Doc: "Datagrams in those frames.",
		Get: func(r *Result) uint64 { return r.Run.Segments }},
	{Name: "backwards", Group: Input, Hint: "{: packet was|packets were} older than one before: time went backwards in the capture",
		Doc: "Packets that are older than one before; they were treated as if no time had passed.",
		Get: func(r *Result) uint64 { return r.Run.Backwards }},
	{Name: "clock_steps", Group: Input,
		Doc: "Times that the clock of the capture was set back, by half a second or more; later times are corrected.",
		Get: func(r *Result) uint64 { return uint64(r.Run.Clock.Steps) }},
	{Name: "undecided", Group: Input, Hint: "{: message or exchange was|messages or exchanges were} unanswered for the filter, as it could not wait longer (docs/filters.md)",
		Doc: "Messages of a stream, or exchanges of a file, that the filter of -Y took for unanswered because there was no time or no room to wait for their answer.",
		Get: func(r *Result) uint64 { return r.Run.Undecided }},
	{Name: "gaps", Group: Input, Label: "{: damaged place} passed over", Doc: "Damaged places of files that were passed over.",
		Get: func(r *Result) uint64 { return r.Run.Gaps }},
	{Name: "gap_bytes", Group: Input, Label: "{: B} in them", Doc: "Bytes in those places, after expansion.",
		Get: func(r *Result) uint64 { return r.Run.GapBytes }},

	{Name: "flows_evicted", Group: Tables, Label: "{: flow}", Doc: "Flows that were evicted for newer ones: a later message of one is judged as if it were the first.",
		Get: func(r *Result) uint64 { return r.Run.FlowsEvicted }},
	{Name: "exchanges_evicted", Group: Tables, Label: "{: exchange}", Doc: "Exchanges that were evicted before they were over: their requests count neither as answered nor as unanswered.",
		Get: func(r *Result) uint64 { return r.Run.ExchangesEvicted }},
	{Name: "visits_evicted", Group: Tables, Label: "{: visit of a client|visits of clients}", Doc: "Visits of clients that were evicted before they were over: what the client asked later shows less of its program.",
		Get: func(r *Result) uint64 { return r.Run.VisitsEvicted }},
	{Name: "hosts_evicted", Group: Tables, Label: "{: server or client|servers and clients}", Doc: "Servers and clients that were evicted for others, and with them findings that take many messages.",
		Get: func(r *Result) uint64 { return r.Run.HostsEvicted }},
}
