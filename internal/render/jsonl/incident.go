package jsonl

import (
	"net/netip"

	"qsniff/internal/flood"
	"qsniff/internal/render"
	"qsniff/internal/render/tally"
)

// incidentSchema is the version of the lines of incidents: in version 1 evidence was a text.
const incidentSchema = 2

// AppendIncident appends an incident that is over as a line, with what the run knows of its target, and
// with its features if these are wanted.
func AppendIncident(dst []byte, in *flood.Incident, run *tally.Run, features bool) []byte {
	x := incidentOf(in, run)
	if features {
		x.Weight = &incidentWeight{share(in.Weight.Value), basisName(in.Weight.Basis.String())}
		x.Features = new(featureValues(in.Features))
	}
	return appendLine(dst, x)
}

// AppendIncident appends an event of an incident as a line, with what is known of the
// incident at that time.
func (r *Renderer) AppendIncident(dst []byte, x *render.IncidentEvent) []byte {
	line := incidentOf(x.Incident, x.Run)
	line.Event, line.Thread, line.Time = eventName(x.Event.String()), text(x.Thread), new(moment(x.Nanos))
	return appendLine(dst, line)
}

// incident is a flood, or an event of one.
type incident struct {
	named
	Event        eventName        `json:"event,omitempty" jsonschema:"among messages and in --tell FILE: what happened to it"`
	Thread       text             `json:"thread,omitempty" jsonschema:"in --tell FILE: the same in all events of the incident"`
	Time         *moment          `json:"time,omitempty" jsonschema:"of the event"`
	ID           uint64           `json:"id" jsonschema:"number in the run"`
	Campaign     uint64           `json:"campaign" jsonschema:"the same in incidents that belong together"`
	Kind         kindName         `json:"kind" jsonschema:"what it is: qsniff explain KIND"`
	Code         findingID        `json:"code" jsonschema:"stable id of the kind: qsniff explain ID"`
	Level        levelName        `json:"level" jsonschema:"how urgent it is"`
	Target       target           `json:"target" jsonschema:"what it is about"`
	Inside       []netip.AddrPort `json:"inside,omitempty" jsonschema:"experimental: addresses that the capturing host translates the target to"`
	Targets      *[]target        `json:"targets,omitempty" jsonschema:"of a network: servers in it"`
	TargetCount  uint64           `json:"target_count,omitempty" jsonschema:"of a network: how many servers there are"`
	Protocol     string           `json:"protocol" jsonschema:"protocol of its packets, or empty"`
	Class        string           `json:"class,omitempty" jsonschema:"of another flood: what it consists of"`
	Packets      *uint64          `json:"packets,omitempty" jsonschema:"of another flood: its packets"`
	PeakBytes    *uint64          `json:"peak_bytes,omitempty" jsonschema:"of another flood: bytes in its busiest second"`
	LooksSampled uint64           `json:"looks_sampled,omitempty" jsonschema:"experimental: at least of how many packets the capture seems to have one: rates are as many times higher"`
	Start        moment           `json:"start" jsonschema:"when it began"`
	Detected     moment           `json:"detected" jsonschema:"when that was certain"`
	End          moment           `json:"end,omitempty" jsonschema:"when it ended, unless the capture ends before"`
	Frame        frame            `json:"frame" jsonschema:"first packet of it"`
	Pulses       uint64           `json:"pulses" jsonschema:"how often it came back"`
	Peak         quantity         `json:"peak_qps" jsonschema:"packets in its busiest second"`
	Mean         quantity         `json:"mean_qps" jsonschema:"packets a second"`
	Baseline     quantity         `json:"baseline_qps" jsonschema:"packets a second before it"`
	Requests     uint64           `json:"requests" jsonschema:"requests in it"`
	Replies      uint64           `json:"replies" jsonschema:"replies to it"`
	BytesIn      uint64           `json:"bytes_in" jsonschema:"bytes of requests"`
	BytesOut     uint64           `json:"bytes_out" jsonschema:"bytes of replies"`
	Gain         quantity         `json:"amplification" jsonschema:"bytes out for a byte in"`
	Sources      uint64           `json:"sources" jsonschema:"estimate of its sources"`
	SourcesError quantity         `json:"sources_error" jsonschema:"relative error of that"`
	Kinds        []incidentKind   `json:"kinds,omitempty" jsonschema:"what was asked"`
	TopSources   []topSource      `json:"top_sources" jsonschema:"busiest sources"`
	TopWindow    *topWindow       `json:"top_window,omitempty" jsonschema:"what top_sources and top_prefixes are counted in"`
	TopPrefixes  []topPrefix      `json:"top_prefixes" jsonschema:"busiest networks"`
	Completion   *share           `json:"challenge_completion,omitempty" jsonschema:"share of the challenges that were brought back"`
	Challenged   *uint64          `json:"challenged,omitempty" jsonschema:"challenges that the server gave"`
	Answered     *quantity        `json:"answered,omitempty" jsonschema:"share of requests that got any reply, challenges included"`
	Served       *quantity        `json:"proven_served,omitempty" jsonschema:"experimental: share of the requests of clients that proved their address, first ones among them, that got a reply"`
	Succeeded    onlyTrue         `json:"succeeded,omitempty" jsonschema:"of guessed passwords: a login was accepted"`
	Leaked       *leaked          `json:"leaked,omitempty" jsonschema:"what guessed challenges brought"`
	History      []earlierKind    `json:"kind_history" jsonschema:"kinds that it was taken for before"`
	Confidence   share            `json:"confidence" jsonschema:"how sure the kind is"`
	Evidence     []sentence       `json:"evidence" jsonschema:"why"`
	Missing      []string         `json:"missing" jsonschema:"features that the capture cannot give"`
	Advice       text             `json:"advice" jsonschema:"what to do"`
	AdviceWords  []text           `json:"advice_words" jsonschema:"the same without rules, sentence by sentence"`
	Rules        *incidentRules   `json:"rules,omitempty" jsonschema:"rules that were tried on the capture"`
	Weight       *incidentWeight  `json:"weight,omitempty" jsonschema:"experimental: with --explain: how much evidence there is, which decides between verdicts"`
	Features     *featureValues   `json:"features,omitempty" jsonschema:"experimental: with --explain: what was measured; null where it could not be"`
}

// incidentOf returns the members that both forms have; run may be nil.
func incidentOf(in *flood.Incident, run *tally.Run) *incident {
	x := &incident{
		named:        named{incidentSchema, "incident"},
		ID:           in.ID,
		Campaign:     in.Campaign,
		Kind:         kindName(in.Kind.String()),
		Code:         findingID(in.Kind.Code()),
		Level:        levelName(in.Level.String()),
		Target:       target(in.Target.String()),
		Protocol:     in.Protocol(),
		Start:        moment(in.Start),
		Detected:     moment(in.Detected),
		End:          moment(in.End),
		Frame:        frame(in.Frame),
		Pulses:       uint64(in.Pulses),
		Peak:         quantity(in.Peak),
		Mean:         quantity(in.Mean),
		Baseline:     quantity(in.Baseline),
		Requests:     in.Requests,
		Replies:      in.Replies,
		BytesIn:      in.BytesIn,
		BytesOut:     in.BytesOut,
		Gain:         quantity(in.Amplification()),
		Sources:      uint64(in.Sources + 0.5),
		SourcesError: quantity(in.SourcesError),
		Kinds:        transform(in.Kinds(), incidentKindOf),
		TopSources:   transform(in.Top, topSourceOf),
		TopWindow:    topWindowOf(in),
		TopPrefixes:  transform(in.Prefixes, topPrefixOf),
		Succeeded:    onlyTrue(in.Succeeded),
		Leaked:       leakedOf(&in.Leak),
		History:      transform(in.History, earlierKindOf),
		Confidence:   share(in.Confidence()),
		Evidence:     transform(in.Evidence, sentenceOf),
		Missing:      append([]string{}, in.Missing...),
		Advice:       text(in.Advice.Text()),
		AdviceWords:  transform(in.Advice.Words, func(s *string) text { return text(*s) }),
		Rules:        incidentRulesOf(&in.Advice),
	}
	if in.Servers > 0 {
		x.TargetCount = uint64(in.Servers)
		x.Targets = new(transform(in.Targets, func(end *netip.AddrPort) target {
			t := flood.Target{End: *end}
			return target(t.String())
		}))
	}
	if c := in.Class; c != nil {
		x.Class, x.Packets, x.PeakBytes = c.Name, &in.Packets, &in.PeakBytes
	}
	if run != nil {
		x.Inside = run.InnerOf(in.Target.End)
		if n := run.LooksSampled(); n > 1 {
			x.LooksSampled = n
		}
	}
	if in.Completion >= 0 {
		x.Completion, x.Challenged = new(share(in.Completion)), new(uint64(in.Challenged))
	}
	if in.Answered >= 0 {
		x.Answered = new(quantity(in.Answered))
	}
	if in.Served >= 0 {
		x.Served = new(quantity(in.Served))
	}
	return x
}

// incidentKind is a type of the packets, where they are counted: not of replies, logins and floods of
// other packets. That of the rest has no lengths.
type incidentKind struct {
	Type          string  `json:"type" jsonschema:"type of message"`
	Share         share   `json:"share" jsonschema:"of the packets"`
	Packets       uint64  `json:"packets" jsonschema:"how many"`
	MinLength     *uint64 `json:"min_length,omitempty" jsonschema:"of the shortest"`
	MaxLength     *uint64 `json:"max_length,omitempty" jsonschema:"of the longest"`
	Length        uint64  `json:"length,omitempty" jsonschema:"that most have"`
	WithChallenge *share  `json:"with_challenge,omitempty" jsonschema:"share that brings a challenge"`
}

func incidentKindOf(k *flood.QueryKind) incidentKind {
	x := incidentKind{Type: k.Name(), Share: share(k.Share), Packets: k.Packets}
	if !k.IsRest {
		x.MinLength, x.MaxLength = new(uint64(k.MinLen)), new(uint64(k.MaxLen))
		x.Length = uint64(max(0, k.CommonLen))
		x.WithChallenge = new(share(k.WithChallenge))
	}
	return x
}

type topSource struct {
	Address  netip.Addr `json:"address" jsonschema:"the source"`
	Low      uint64     `json:"count_low" jsonschema:"packets of it, at least"`
	High     uint64     `json:"count_high" jsonschema:"at most"`
	Verified bool       `json:"verified" jsonschema:"whether it proved its address"`
	Ports    uint64     `json:"ports" jsonschema:"ports that it sent from"`
	TTL      *uint64    `json:"ttl,omitempty" jsonschema:"time to live of its packets"`
}

func topSourceOf(s *flood.Source) topSource {
	x := topSource{
		Address:  s.Addr,
		Low:      s.Low,
		High:     s.High,
		Verified: s.Verified,
		Ports:    uint64(s.Ports),
	}
	if s.TTL >= 0 {
		x.TTL = new(uint64(s.TTL))
	}
	return x
}

// topWindow is what the busiest sources and networks are counted in.
type topWindow struct {
	From    *moment `json:"from,omitempty" jsonschema:"begin of the stretch"`
	To      *moment `json:"to,omitempty" jsonschema:"its end"`
	Packets uint64  `json:"packets" jsonschema:"in it"`
}

func topWindowOf(in *flood.Incident) *topWindow {
	if in.TopOf == 0 {
		return nil
	}
	x := &topWindow{Packets: in.TopOf}
	if in.TopTo != 0 {
		x.From, x.To = new(moment(in.TopFrom)), new(moment(in.TopTo))
	}
	return x
}

type topPrefix struct {
	Prefix netip.Prefix `json:"prefix" jsonschema:"the network"`
	Low    uint64       `json:"count_low" jsonschema:"packets of it, at least"`
	High   uint64       `json:"count_high" jsonschema:"at most"`
	Hosts  uint64       `json:"hosts" jsonschema:"sources in it"`
}

func topPrefixOf(p *flood.Prefix) topPrefix {
	return topPrefix{p.Prefix, p.Low, p.High, uint64(p.Hosts)}
}

// leaked is what guessed challenges brought.
type leaked struct {
	Replies uint64       `json:"replies" jsonschema:"replies"`
	Bytes   uint64       `json:"bytes" jsonschema:"their bytes"`
	To      []leakedHost `json:"to" jsonschema:"busiest receivers"`
}

type leakedHost struct {
	Address netip.Addr `json:"address" jsonschema:"the receiver"`
	Replies uint64     `json:"replies" jsonschema:"replies to it"`
	Bytes   uint64     `json:"bytes" jsonschema:"their bytes"`
}

func leakedOf(l *flood.Leak) *leaked {
	if l.Replies == 0 {
		return nil
	}
	return &leaked{l.Replies, l.Bytes, transform(l.To, func(r *flood.LeakReceiver) leakedHost {
		return leakedHost{r.Addr, r.Replies, r.Bytes}
	})}
}

type earlierKind struct {
	Kind  kindName `json:"kind" jsonschema:"what it was taken for"`
	Until moment   `json:"until" jsonschema:"until when"`
}

func earlierKindOf(c *flood.Change) earlierKind {
	return earlierKind{kindName(c.Kind.String()), moment(c.Nanos)}
}

// sentence is evidence, with the stretch of time that it is of.
type sentence struct {
	Text text    `json:"text" jsonschema:"a sentence with its figures"`
	From *moment `json:"from,omitempty" jsonschema:"begin of the stretch"`
	To   *moment `json:"to,omitempty" jsonschema:"its end"`
}

func sentenceOf(s *flood.Sentence) sentence {
	x := sentence{Text: text(s.Text)}
	if s.To != 0 {
		x.From, x.To = new(moment(s.From)), new(moment(s.To))
	}
	return x
}

type incidentRules struct {
	NFTables text `json:"nftables" jsonschema:"a file for nft -f"`
	IPTables text `json:"iptables" jsonschema:"a script"`
	Measured text `json:"measured" jsonschema:"what they would have dropped"`
	// Cost is of the time from the detection to the end of the flood.
	Cost *ruleCost `json:"cost,omitempty" jsonschema:"experimental: what they would have cost clients while the flood lasted; absent where the capture does not show it"`
}

type ruleCost struct {
	Players    int `json:"players" jsonschema:"experimental: whom the server sends the game"`
	PlayersHit int `json:"players_hit" jsonschema:"experimental: of these, lost 1 in 100 of their packets or more"`
	Known      int `json:"known_visitors" jsonschema:"experimental: other clients that had proved their address before the detection"`
	KnownHit   int `json:"known_visitors_hit" jsonschema:"experimental: of these, lost an answer; none where the rules have the proven clients"`
	New        int `json:"new_visitors" jsonschema:"experimental: clients that proved their address after the detection"`
	NewHit     int `json:"new_visitors_hit" jsonschema:"experimental: of these, lost an answer"`
}

func incidentRulesOf(a *flood.Advice) *incidentRules {
	if a.Rules == nil {
		return nil
	}
	file, _ := a.Rules.IPTables()
	return &incidentRules{NFTables: text(a.Rules.NFTables()), IPTables: text(file), Measured: text(a.Measured), Cost: (*ruleCost)(a.Cost)}
}

type incidentWeight struct {
	Value share     `json:"value" jsonschema:"experimental: 0 to 1"`
	Basis basisName `json:"basis" jsonschema:"experimental: what the capture gives"`
}

// featureValues is an object whose members are features.
type featureValues []flood.FeatureValue

func (all featureValues) MarshalJSON() ([]byte, error) {
	w := writer{}
	w.open('{')
	for _, f := range all {
		w.float(f.Name, f.Value)
	}
	w.close('}')
	return w.dst, nil
}
