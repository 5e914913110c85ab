package jsonl

import (
	"net/netip"

	"qsniff/dissect"
	"qsniff/internal/base/jsonw"
	"qsniff/internal/track/diff"
)

// Diff renders what became of datagrams between two points.
type Diff struct {
	Options
	Registry *dissect.Registry
	// Shows chooses the classes of which differences are written.
	Shows [diff.NumClasses]bool
}

// Append appends an object with the totals, and an object a line for each difference.
func (x *Diff) Append(dst []byte, r *diff.Result) []byte {
	dst = appendLine(dst, summaryOf(r))
	for i := range r.Differences {
		if d := &r.Differences[i]; x.Shows[d.Class] {
			dst = appendLine(dst, x.differenceOf(r, d))
		}
	}
	return dst
}

// diffSummary is the first line. Counts are of datagrams, unless their name says otherwise.
type diffSummary struct {
	named
	Interrupted     *diffExtent `json:"interrupted,omitempty" jsonschema:"how far the run came, if Ctrl-C ended it"`
	PacketsEdge     uint64      `json:"packets_edge" jsonschema:"packets of edge"`
	DatagramsEdge   uint64      `json:"datagrams_edge" jsonschema:"datagrams in edge"`
	OutsideEdge     uint64      `json:"outside_edge" jsonschema:"that the other capture does not cover"`
	UnmatchedEdge   uint64      `json:"unmatched_edge" jsonschema:"that the display filter did not choose"`
	SegmentsEdge    uint64      `json:"segments_edge" jsonschema:"TCP segments of consoles, compared"`
	TCPEdge         uint64      `json:"tcp_edge" jsonschema:"other TCP segments, not compared"`
	OthersEdge      uint64      `json:"others_edge" jsonschema:"other packets, not compared"`
	CutEdge         uint64      `json:"cut_edge" jsonschema:"that the snap length cut"`
	IncompleteEdge  uint64      `json:"incomplete_edge" jsonschema:"incomplete sets of IP fragments"`
	UncapturedEdge  uint64      `json:"uncaptured_edge" jsonschema:"datagrams that passed there and are not in the capture"`
	PacketsHost     uint64      `json:"packets_host" jsonschema:"packets of host"`
	DatagramsHost   uint64      `json:"datagrams_host" jsonschema:"datagrams in host"`
	OutsideHost     uint64      `json:"outside_host" jsonschema:"that the other capture does not cover"`
	UnmatchedHost   uint64      `json:"unmatched_host" jsonschema:"that the display filter did not choose"`
	SegmentsHost    uint64      `json:"segments_host" jsonschema:"TCP segments of consoles, compared"`
	TCPHost         uint64      `json:"tcp_host" jsonschema:"other TCP segments, not compared"`
	OthersHost      uint64      `json:"others_host" jsonschema:"other packets, not compared"`
	CutHost         uint64      `json:"cut_host" jsonschema:"that the snap length cut"`
	IncompleteHost  uint64      `json:"incomplete_host" jsonschema:"incomplete sets of IP fragments"`
	UncapturedHost  uint64      `json:"uncaptured_host" jsonschema:"datagrams that passed there and are not in the capture"`
	Matched         uint64      `json:"matched" jsonschema:"datagrams at both points"`
	Lost            uint64      `json:"lost" jsonschema:"at edge only"`
	Extra           uint64      `json:"extra" jsonschema:"at host only"`
	Retransmitted   uint64      `json:"retransmitted" jsonschema:"TCP segments that were sent again"`
	Late            uint64      `json:"late" jsonschema:"slower than usual"`
	Duplicated      uint64      `json:"duplicated" jsonschema:"copies"`
	Reordered       uint64      `json:"reordered" jsonschema:"overtaken"`
	Changed         uint64      `json:"changed" jsonschema:"with other bytes"`
	Reframed        uint64      `json:"reframed" jsonschema:"messages in other datagrams at host than at edge"`
	Injected        uint64      `json:"injected" jsonschema:"TCP resets that the other end did not send"`
	AnsweredBetween uint64      `json:"answered_between" jsonschema:"replies from in between"`
	KeptBetween     uint64      `json:"kept_between" jsonschema:"requests answered in between"`
	diff.Shortages
	ComparedBytes uint64          `json:"compared_bytes,omitempty" jsonschema:"of each datagram, where a capture cut them"`
	Clock         diffClock       `json:"clock" jsonschema:"host's clock against edge's"`
	Translation   []translation   `json:"translation" jsonschema:"translated addresses"`
	Connections   diffConnections `json:"connections" jsonschema:"of consoles over TCP"`
	ToServer      wayCounts       `json:"to_server" jsonschema:"requests"`
	ToClient      wayCounts       `json:"to_client" jsonschema:"replies"`
	Kinds         []kindCounts    `json:"kinds" jsonschema:"by server, message and way"`
}

type diffExtent struct {
	PacketsEdge uint64 `json:"packets_edge" jsonschema:"packets of edge that were judged"`
	PacketsHost uint64 `json:"packets_host" jsonschema:"packets of host that were judged"`
}

func summaryOf(r *diff.Result) *diffSummary {
	edge, host := &r.Captures[diff.Edge], &r.Captures[diff.Host]
	s := &diffSummary{
		named:           named{schema, "summary"},
		PacketsEdge:     edge.Packets,
		DatagramsEdge:   edge.Datagrams,
		OutsideEdge:     r.Outside(diff.Edge),
		UnmatchedEdge:   r.Unwanted[diff.Edge],
		SegmentsEdge:    edge.Segments,
		TCPEdge:         edge.TCP,
		OthersEdge:      edge.Others,
		CutEdge:         edge.Cut,
		IncompleteEdge:  edge.Incomplete,
		UncapturedEdge:  r.Uncaptured(diff.Edge),
		PacketsHost:     host.Packets,
		DatagramsHost:   host.Datagrams,
		OutsideHost:     r.Outside(diff.Host),
		UnmatchedHost:   r.Unwanted[diff.Host],
		SegmentsHost:    host.Segments,
		TCPHost:         host.TCP,
		OthersHost:      host.Others,
		CutHost:         host.Cut,
		IncompleteHost:  host.Incomplete,
		UncapturedHost:  r.Uncaptured(diff.Host),
		Matched:         r.Matched(),
		Lost:            r.Count(diff.Lost),
		Extra:           r.Count(diff.Extra),
		Retransmitted:   r.Count(diff.Retransmitted),
		Late:            r.Count(diff.Late),
		Duplicated:      r.Count(diff.Duplicated),
		Reordered:       r.Count(diff.Reordered),
		Changed:         r.Count(diff.Changed),
		Reframed:        r.Reframed,
		Injected:        r.Count(diff.Injected),
		AnsweredBetween: r.Total(diff.ToClient).Answered,
		KeptBetween:     r.Total(diff.ToServer).Kept,
		Shortages:       r.Shortages,
		ComparedBytes:   uint64(r.ComparedTo),
		Clock:           clockOf(&r.Clock),
		Translation:     transform(r.Translations, translationOf),
		Connections:     connectionsOf(&r.Connections),
		ToServer:        wayCountsOf(r, diff.ToServer),
		ToClient:        wayCountsOf(r, diff.ToClient),
		Kinds:           transform(r.Rows, func(row *diff.Row) kindCounts { return kindCountsOf(r, row) }),
	}
	if r.IsInterrupted {
		s.Interrupted = &diffExtent{r.Compared[diff.Edge], r.Compared[diff.Host]}
	}
	return s
}

type diffClock struct {
	Pairs         uint64    `json:"pairs" jsonschema:"that the clocks were compared by"`
	Doubtful      onlyTrue  `json:"doubtful,omitempty" jsonschema:"whether both have too little in common to be of the same traffic"`
	Offset        *number   `json:"offset_ms,omitempty" jsonschema:"of host's clock"`
	Error         *quantity `json:"error_ms,omitempty" jsonschema:"of the offset, at most"`
	Drift         *number   `json:"drift_ppm,omitempty" jsonschema:"of host's clock"`
	DriftError    *number   `json:"drift_error_ppm,omitempty" jsonschema:"of the drift"`
	Reversed      *bool     `json:"reversed,omitempty" jsonschema:"whether clients are behind host"`
	UsualToServer *number   `json:"usual_to_server_ms,omitempty" jsonschema:"usual time on the way"`
	UsualToClient *number   `json:"usual_to_client_ms,omitempty" jsonschema:"usual time on the way"`
}

func clockOf(c *diff.Clock) diffClock {
	x := diffClock{Pairs: uint64(c.Pairs), Doubtful: onlyTrue(c.IsDoubtful)}
	if c.Pairs == 0 {
		return x
	}
	x.Offset, x.Reversed = new(exactMillis(c.Offset)), &c.IsReversed
	x.UsualToServer = new(exactMillis(c.Usual(diff.ToServer)))
	x.UsualToClient = new(exactMillis(c.Usual(diff.ToClient)))
	if !c.IsOneWay {
		x.Error = new(quantity(exactMillis(c.Error)))
	}
	if c.DriftError > 0 { // else there are too few
		x.Drift, x.DriftError = new(short(number(c.Drift*1e6))), new(short(number(c.DriftError*1e6)))
	}
	return x
}

type translation struct {
	Edge      netip.AddrPort `json:"edge" jsonschema:"address there"`
	Host      netip.AddrPort `json:"host" jsonschema:"address there"`
	Datagrams uint64         `json:"datagrams" jsonschema:"with it"`
	Server    bool           `json:"server" jsonschema:"whether it is a server's"`
	TCP       onlyTrue       `json:"tcp,omitempty" jsonschema:"whether the port is of TCP"`
}

func translationOf(t *diff.Translation) translation {
	return translation{t.Edge, t.Host, uint64(t.Datagrams), t.IsServer, onlyTrue(t.IsTCP)}
}

// diffConnections counts connections over TCP, and lists the first ones that are at one point only.
type diffConnections struct {
	Both     uint64     `json:"both" jsonschema:"at both points"`
	EdgeOnly uint64     `json:"edge_only" jsonschema:"at edge only"`
	HostOnly uint64     `json:"host_only" jsonschema:"at host only"`
	OneSided []oneSided `json:"one_sided" jsonschema:"the first ones that are at one point only"`
}

type oneSided struct {
	Side     sideName    `json:"side" jsonschema:"where it is"`
	Server   optionalEnd `json:"server" jsonschema:"as named there"`
	Client   optionalEnd `json:"client" jsonschema:"as named there"`
	Time     moment      `json:"time" jsonschema:"of its first segment, in host's clock"`
	Frame    frame       `json:"frame" jsonschema:"of its first segment"`
	Segments uint64      `json:"segments" jsonschema:"of it"`
	Answered bool        `json:"answered" jsonschema:"whether something accepted it"`
}

func connectionsOf(c *diff.Connections) diffConnections {
	return diffConnections{c.Both, c.Only[diff.Edge], c.Only[diff.Host], transform(c.OneSided, func(x *diff.Connection) oneSided {
		return oneSided{
			Side:     [...]sideName{"edge", "host"}[x.Side],
			Server:   optionalEnd(x.Server),
			Client:   optionalEnd(x.Client),
			Time:     moment(x.Nanos),
			Frame:    frame(x.Frame),
			Segments: x.Segments,
			Answered: x.IsAnswered,
		}
	})}
}

// rowCounts are the counts of what went one way.
type rowCounts struct {
	Sent    uint64 `json:"sent" jsonschema:"datagrams that were sent"`
	Arrived uint64 `json:"arrived" jsonschema:"that arrived"`
	Missing uint64 `json:"missing" jsonschema:"that did not"`
	diff.Fates
	Slowest *number `json:"slowest_ms,omitempty" jsonschema:"longest time on the way"`
}

func rowCountsOf(row *diff.Row) rowCounts {
	c := rowCounts{Sent: row.Sent, Arrived: row.Arrived, Missing: row.Missing(), Fates: row.Fates}
	if row.Arrived > 0 {
		c.Slowest = new(exactMillis(row.Slowest))
	}
	return c
}

type wayCounts struct {
	rowCounts
	SizeLimit *diff.SizeLimit `json:"size_limit,omitempty" jsonschema:"a size above which datagrams are lost"`
}

func wayCountsOf(r *diff.Result, way diff.Way) wayCounts {
	c := wayCounts{rowCounts: rowCountsOf(r.Total(way))}
	if limit, ok := r.Sizes[way].Limit(); ok {
		c.SizeLimit = &limit
	}
	return c
}

type kindCounts struct {
	Server   optionalEnd `json:"server" jsonschema:"one of several where it is null"`
	Protocol string      `json:"protocol,omitempty" jsonschema:"of the message"`
	Message  string      `json:"message" jsonschema:"type of the message"`
	Way      wayName     `json:"way" jsonschema:"where it goes"`
	rowCounts
	Filtered         bool  `json:"filtered" jsonschema:"whether it looks filtered"`
	FirstMissingEdge frame `json:"first_missing_frame_edge,omitempty" jsonschema:"of the first lost one"`
	FirstMissingHost frame `json:"first_missing_frame_host,omitempty" jsonschema:"of the first one that was not sent"`
}

func kindCountsOf(r *diff.Result, row *diff.Row) kindCounts {
	protocol, message := r.Name(row.Kind)
	return kindCounts{
		Server:           optionalEnd(row.Server),
		Protocol:         protocol,
		Message:          message,
		Way:              wayName(row.Way.String()),
		rowCounts:        rowCountsOf(row),
		Filtered:         r.IsFiltered(row),
		FirstMissingEdge: frame(row.FirstLost[diff.Edge]),
		FirstMissingHost: frame(row.FirstLost[diff.Host]),
	}
}

// difference is a datagram, or a pair of them. What it has of a point is absent if it is not there.
type difference struct {
	Schema        int           `json:"schema"`
	Class         className     `json:"class" jsonschema:"what became of it"`
	Way           wayName       `json:"way" jsonschema:"where it goes"`
	Time          moment        `json:"time" jsonschema:"in host's clock"`
	Server        optionalEnd   `json:"server" jsonschema:"of its flow"`
	Client        optionalEnd   `json:"client" jsonschema:"of its flow"`
	Protocol      string        `json:"protocol,omitempty" jsonschema:"of the message"`
	Message       string        `json:"message" jsonschema:"type of the message"`
	FrameEdge     frame         `json:"frame_edge,omitempty" jsonschema:"at edge"`
	LengthEdge    *uint16       `json:"length_edge,omitempty" jsonschema:"of payload"`
	TTLEdge       *uint8        `json:"ttl_edge,omitempty" jsonschema:"time to live"`
	DatagramsEdge *uint16       `json:"datagrams_edge,omitempty" jsonschema:"of a message in other datagrams: how many"`
	FrameHost     frame         `json:"frame_host,omitempty" jsonschema:"at host"`
	LengthHost    *uint16       `json:"length_host,omitempty" jsonschema:"of payload"`
	TTLHost       *uint8        `json:"ttl_host,omitempty" jsonschema:"time to live"`
	DatagramsHost *uint16       `json:"datagrams_host,omitempty" jsonschema:"of a message in other datagrams: how many"`
	Delay         *number       `json:"delay_ms,omitempty" jsonschema:"time on the way"`
	Request       frame         `json:"request_frame,omitempty" jsonschema:"of an answer from in between: its request"`
	SameAs        frame         `json:"same_bytes_frame,omitempty" jsonschema:"of such an answer: the reply that it repeats"`
	Age           *number       `json:"age_ms,omitempty" jsonschema:"of these bytes"`
	UsualTTL      uint8         `json:"usual_ttl,omitempty" jsonschema:"of the server's own replies"`
	Changed       []changedPart `json:"changed,omitempty" jsonschema:"what was changed"`
	ChangedMore   uint64        `json:"changed_more,omitempty" jsonschema:"fields that are not listed"`
}

func (x *Diff) differenceOf(r *diff.Result, d *diff.Difference) *difference {
	server, client := r.Ends(d)
	protocol, message := r.Name(d.Kind)
	out := &difference{
		Schema:    schema,
		Class:     className(d.Class.String()),
		Way:       wayName(d.Way.String()),
		Time:      moment(d.Nanos),
		Server:    optionalEnd(server),
		Client:    optionalEnd(client),
		Protocol:  protocol,
		Message:   message,
		FrameEdge: frame(d.Frames[diff.Edge]),
		FrameHost: frame(d.Frames[diff.Host]),
		Request:   frame(d.Request),
		SameAs:    frame(d.SameAs),
		UsualTTL:  d.UsualTTL,
	}
	isEdge, isHost := d.Frames[diff.Edge] > 0, d.Frames[diff.Host] > 0
	if isEdge {
		out.LengthEdge, out.TTLEdge = &d.Sizes[diff.Edge], &d.TTL[diff.Edge]
	}
	if isHost {
		out.LengthHost, out.TTLHost = &d.Sizes[diff.Host], &d.TTL[diff.Host]
	}
	switch {
	case d.Class == diff.Reframed:
		out.DatagramsEdge, out.DatagramsHost = ifAny(d.Count[diff.Edge]), ifAny(d.Count[diff.Host])
	case isEdge && isHost:
		out.Delay = new(exactMillis(d.Delay))
	}
	if d.SameAs > 0 {
		out.Age = new(exactMillis(d.Age))
	}
	if d.Class == diff.Changed {
		parts, more := r.Parts(x.Registry, d)
		out.Changed, out.ChangedMore = transform(parts, x.changedPartOf), uint64(more)
	}
	return out
}

// changedPart is a field with its values, or where bytes differ.
type changedPart struct {
	Field      string     `json:"field" jsonschema:"name of the field, or where the bytes are"`
	From       fieldValue `json:"from,omitempty" jsonschema:"at the sender"`
	FromLength *uint64    `json:"from_length,omitempty" jsonschema:"of hidden bytes"`
	To         fieldValue `json:"to,omitempty" jsonschema:"at the receiver"`
	ToLength   *uint64    `json:"to_length,omitempty" jsonschema:"of hidden bytes"`
}

func (x *Diff) changedPartOf(p *diff.Part) changedPart {
	out := changedPart{Field: p.Name}
	out.From, out.FromLength = x.valueOf(p, &p.Values[0])
	out.To, out.ToLength = x.valueOf(p, &p.Values[1])
	return out
}

// valueOf returns one form of a part, if it has that, or the length of bytes that may be secret.
func (x *Diff) valueOf(p *diff.Part, v *diff.Value) (value fieldValue, length *uint64) {
	renderer := Renderer{opt: x.Options}
	switch {
	case v.Field != nil:
		value, _ = renderer.appendValue(nil, v.Msg, v.Field)
	case p.Def == nil && v.Bytes != nil && x.ShowSecrets:
		value = fieldValue(jsonw.Hex(nil, v.Bytes))
	case p.Def == nil && v.Bytes != nil:
		length = new(uint64(len(v.Bytes)))
	}
	return value, length
}
