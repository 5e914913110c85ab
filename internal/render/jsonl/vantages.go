package jsonl

import (
	"net/netip"

	"qsniff/internal/render"
	"qsniff/internal/track/vantages"
)

// AppendVantages appends a line with the captures, and a line for each server that at least two of them asked.
func AppendVantages(dst []byte, x *render.Vantages) []byte {
	dst = appendLine(dst, vantagesRecord{
		named:    named{schema, "vantages"},
		Captures: transform(x.Captures, captureOf),
		Unread:   uint64(x.Unread),
		Servers:  uint64(len(x.Servers)),
	})
	for i := range x.Servers {
		dst = appendLine(dst, vantageServerOf(&x.Servers[i]))
	}
	return dst
}

type vantagesRecord struct {
	named
	Captures []vantageCapture `json:"captures" jsonschema:"in the order in which they were given"`
	Unread   uint64           `json:"unread" jsonschema:"captures that Ctrl-C left unread"`
	Servers  uint64           `json:"servers" jsonschema:"that at least two captures asked"`
}

type vantageCapture struct {
	Name        text          `json:"name" jsonschema:"as it was given"`
	Interrupted *interruption `json:"interrupted,omitempty" jsonschema:"how far the run came, if Ctrl-C ended it"`
	Packets     uint64        `json:"packets" jsonschema:"in it"`
	Messages    uint64        `json:"messages" jsonschema:"in it"`
	First       *moment       `json:"first,omitempty" jsonschema:"of its first packet"`
	Last        *moment       `json:"last,omitempty" jsonschema:"of its last packet"`
	Dropped     uint64        `json:"dropped" jsonschema:"packets that the capturing program lost"`
	vantages.Evicted
}

func captureOf(v *render.Vantage) vantageCapture {
	c := vantageCapture{
		Name:        text(v.Name),
		Interrupted: interruptionOf(&v.Run),
		Packets:     v.Run.Packets,
		Messages:    v.Run.Messages,
		Dropped:     v.Run.Dropped,
		Evicted:     v.Evicted,
	}
	if v.Run.Packets > 0 {
		c.First, c.Last = new(moment(v.Run.First)), new(moment(v.Run.Last))
	}
	return c
}

// vantageServer is how a server answers at each capture, and what that comes to.
type vantageServer struct {
	named
	Server        netip.AddrPort `json:"server" jsonschema:"that at least two captures asked"`
	Verdict       verdictName    `json:"verdict" jsonschema:"what that comes to"`
	Protocol      string         `json:"protocol,omitempty" jsonschema:"of the answers that were judged"`
	Message       string         `json:"message,omitempty" jsonschema:"type of these"`
	Near          *uint64        `json:"near,omitempty" jsonschema:"capture with the shorter path"`
	Far           *uint64        `json:"far,omitempty" jsonschema:"capture with the longer path"`
	AnswersDiffer *quantity      `json:"answers_differ_ms,omitempty" jsonschema:"larger difference of least and median times of answers"`
	PathsDiffer   *quantity      `json:"paths_differ_ms,omitempty" jsonschema:"difference of the least times of paths"`
	Needed        *quantity      `json:"needed_ms,omitempty" jsonschema:"what paths must differ by to be judged"`
	Sooner        *bool          `json:"sooner,omitempty" jsonschema:"whether answers at far come sooner than the path allows"`
	Points        []vantagePoint `json:"points" jsonschema:"by capture"`
	Findings      []foundHere    `json:"findings,omitempty" jsonschema:"what is notable"`
}

// foundHere is a finding in a record of what it is about.
type foundHere struct {
	ID       findingID    `json:"id" jsonschema:"stable id: qsniff explain ID"`
	Severity severityName `json:"severity" jsonschema:"how much it matters"`
	Fault    faultName    `json:"fault" jsonschema:"the party to look at"`
	Text     text         `json:"text" jsonschema:"the finding in a sentence"`
}

func vantageServerOf(s *vantages.Server) *vantageServer {
	x := &vantageServer{
		named:   named{schema, "vantage_server"},
		Server:  s.Addr,
		Verdict: verdictName(s.Verdict.String()),
		Points:  transform(s.Points, vantagePointOf),
	}
	if s.Verdict > vantages.Unanswered {
		x.Protocol, x.Message = s.Answer[0].Protocol(), s.Answer[0].Name()
	}
	if s.Verdict > vantages.NoPath {
		x.Near, x.Far = new(uint64(s.Near)), new(uint64(s.Far))
		x.AnswersDiffer = new(millis(s.AnswersDiffer))
		x.PathsDiffer = new(millis(s.PathsDiffer))
		x.Needed = new(millis(s.Needed))
		x.Sooner = &s.IsSooner
	}
	if e, ok := s.Finding(); ok {
		x.Findings = []foundHere{{
			findingID(e.Code.ID),
			severityName(e.Severity.String()),
			faultName(e.Code.Fault.String()),
			text(e.AppendText(nil)),
		}}
	}
	return x
}

// vantagePoint is what one capture shows of a server.
type vantagePoint struct {
	Capture  uint64         `json:"capture" jsonschema:"index in captures, from 0"`
	Asked    uint64         `json:"asked" jsonschema:"exchanges in which it was asked"`
	Answered uint64         `json:"answered" jsonschema:"of them with an answer"`
	Answers  []vantageTimes `json:"answers" jsonschema:"times by kind of answer"`
	Path     *vantageTimes  `json:"path,omitempty" jsonschema:"what shows how long the path is"`
}

func vantagePointOf(p *vantages.Point) vantagePoint {
	x := vantagePoint{uint64(p.Capture), p.Asked, p.Answered, transform(p.Answers, vantageTimesOf), nil}
	if p.Path != nil {
		x.Path = new(vantageTimesOf(p.Path))
	}
	return x
}

// vantageTimes is a series of times.
type vantageTimes struct {
	Of       originName `json:"of" jsonschema:"what was timed"`
	Protocol string     `json:"protocol,omitempty" jsonschema:"of an answer"`
	Message  string     `json:"message,omitempty" jsonschema:"type of an answer"`
	Port     uint16     `json:"port,omitempty" jsonschema:"of the server or its host"`
	Count    uint64     `json:"count" jsonschema:"how many there were"`
	Least    quantity   `json:"least_ms" jsonschema:"the shortest time"`
	Median   quantity   `json:"median_ms" jsonschema:"the usual time"`
	TTL      uint8      `json:"ttl,omitempty" jsonschema:"time to live of the fastest reply"`
	Frame    frame      `json:"frame" jsonschema:"of the fastest reply, in that capture"`
}

func vantageTimesOf(s *vantages.Series) vantageTimes {
	x := vantageTimes{
		Of:     originName(s.Origin.String()),
		Port:   s.End.Port(),
		Count:  s.Count,
		Least:  millis(s.Least),
		Median: millis(s.Median),
		TTL:    s.TTL,
		Frame:  frame(s.Frame),
	}
	if s.Origin == vantages.Answers {
		x.Protocol, x.Message = s.Protocol(), s.Name()
	}
	return x
}
