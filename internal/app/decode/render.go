package decode

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"qsniff/capture/file"
	"qsniff/capture/packet"
	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/app/payload"
	"qsniff/internal/render"
	"qsniff/reassembly/wire"
)

// Renderer corrects in messages what the pipeline cannot know, which sees packets that a
// plan made up, and gives them to another renderer. It records which payloads are in the
// output, so that the others can be explained after the run.
type Renderer struct {
	render.Renderer
	Messages int // so far
	plan     *Plan
	isShown  [payload.MaxPayloads + 1]bool
	missing  []string // sentences about missing parts of split messages
}

// NewRenderer returns a renderer that gives the messages of p's payloads to to.
func (p *Plan) NewRenderer(to render.Renderer) *Renderer { return &Renderer{Renderer: to, plan: p} }

// whyNoRest is the reason of messages that are incomplete.
const whyNoRest = "the rest is not among the payloads"

// Append corrects and renders a message.
func (t *Renderer) Append(dst []byte, e *render.Event) []byte {
	t.Messages++
	t.isShown[e.Frame] = true
	for _, f := range e.Frames {
		t.isShown[f] = true
	}
	m := &t.plan.payloads[e.Frame-1]
	x := *e
	if x.WhyIncomplete != "" {
		x.WhyIncomplete = whyNoRest
	}
	if x.Msg.Type == nil && !m.isPacket {
		x.Reply = m.isReply
	}
	t.correctConfidence(&x, m)
	for i := range e.Msg.Expert {
		t.markShown(&e.Msg.Expert[i])
	}
	t.noteMissingParts(&x)
	return t.Renderer.Append(dst, &x)
}

// correctConfidence replaces confidence and reason of a message, unless Options.As is its
// protocol: those of the pipeline are about the plan's rules.
func (t *Renderer) correctConfidence(e *render.Event, m *plannedPayload) {
	switch {
	case e.Msg.Why == "" || t.plan.As == e.Msg.Proto:
	case e.TCP && t.plan.isWeakTCP, m.chosen != nil && m.chosen.conf == dissect.Maybe:
		e.Msg.Conf, e.Msg.Why = dissect.Maybe, "nothing else reads it"
	case e.Msg.Why == dissect.WhyDecodeAs:
		e.Msg.Why = "structure"
	}
}

// AppendRecord renders a finding about no message.
func (t *Renderer) AppendRecord(dst []byte, r *render.Record) []byte {
	for _, f := range r.Frames {
		t.isShown[f] = true
	}
	return t.Renderer.AppendRecord(dst, r)
}

// markShown records that a finding is about payloads: no other explanation is needed.
func (t *Renderer) markShown(x *finding.Expert) {
	for _, f := range x.Frames {
		if f < uint64(len(t.isShown)) {
			t.isShown[f] = true
		}
	}
}

// noteMissingParts adds a sentence about the parts of a split message that are not among
// the payloads.
func (t *Renderer) noteMissingParts(e *render.Event) {
	s := e.Split
	if s == nil || s.Received >= s.Total {
		return
	}
	frames := e.Frames
	if len(frames) == 0 {
		frames = []uint64{e.Frame}
	}
	have := make([]bool, s.Total)
	for _, f := range frames {
		if h, ok := wire.ParseSplit(t.plan.payloads[f-1].content(), s.Engine); ok && int(h.Number) < s.Total {
			have[h.Number] = true
		}
	}
	var absent []int
	for i, ok := range have {
		if !ok {
			absent = append(absent, i+1)
		}
	}
	what := fmt.Sprintf("parts %s of %d are missing: give them as further arguments", formatRanges(absent), s.Total)
	if len(absent) == 1 {
		what = fmt.Sprintf("part %d of %d is missing: give it as a further argument", absent[0], s.Total)
	}
	t.missing = append(t.missing, namePayloads(frames)+": "+what)
}

// namePayloads returns "payload 3", or "payloads 1-3, 5".
func namePayloads(numbers []uint64) string {
	if len(numbers) == 1 {
		return "payload " + formatRanges(numbers)
	}
	return "payloads " + formatRanges(numbers)
}

// formatRanges formats rising numbers with runs as ranges: 1-3, 5.
func formatRanges[T int | uint64](ns []T) string {
	var out []string
	for i := 0; i < len(ns); {
		j := i
		for j+1 < len(ns) && ns[j+1] == ns[j]+1 {
			j++
		}
		if i == j {
			out = append(out, fmt.Sprint(ns[i]))
		} else {
			out = append(out, fmt.Sprintf("%d-%d", ns[i], ns[j]))
		}
		i = j + 1
	}
	return strings.Join(out, ", ")
}

// Remark is a sentence about payloads that cannot be seen in the output.
type Remark struct {
	Text string
	Hint string // what to do; may be empty
}

// listedLines is how many lines without bytes are listed. Chosen: those of a page.
const listedLines = 40

// Remarks returns, after the run, which payloads are whole packets, which parts are
// missing, and why other payloads are not decoded.
func (t *Renderer) Remarks() (all []Remark) {
	add := func(format string, args ...any) { all = append(all, Remark{Text: fmt.Sprintf(format, args...)}) }
	var packets []uint64
	for i := range t.plan.payloads {
		m := &t.plan.payloads[i]
		if m.isPacket && t.isShown[i+1] {
			packets = append(packets, uint64(i+1))
		}
		if t.isShown[i+1] && m.chosen != nil && t.plan.Dir != "" && m.chosen.typ.FromServer() != (t.plan.Dir == "reply") {
			add("payload %d: no %s reads like this: it is %s", i+1, t.plan.Dir, m.chosen.typ.Name)
		}
	}
	switch len(packets) {
	case 0:
	case 1:
		add("%s is a whole packet: what it carries is decoded", namePayloads(packets))
	default:
		add("%s are whole packets: what they carry is decoded", namePayloads(packets))
	}
	for _, s := range t.missing {
		add("%s", s)
	}
	var skipped []int
	for i := range t.plan.payloads {
		skipped = append(skipped, t.plan.payloads[i].Skipped...)
		for _, s := range t.plan.payloads[i].Notes {
			add("payload %d: %s", i+1, s)
		}
	}
	switch n := len(skipped); {
	case n == 1:
		add("line %d holds no bytes and was skipped", skipped[0])
	case n > listedLines:
		add("%d lines hold no bytes and were skipped: the first are %s", n, formatRanges(skipped[:listedLines]))
	case n > 0:
		add("%d lines hold no bytes and were skipped: %s", n, formatRanges(skipped))
	}
	for i := range t.plan.payloads {
		if !t.isShown[i+1] {
			why, hint := t.plan.explainUnread(&t.plan.payloads[i])
			all = append(all, Remark{fmt.Sprintf("payload %d: %s", i+1, why), hint})
		}
	}
	return all
}

// quoteLen is how many bytes of a payload are quoted. Chosen: the engines' mark of four and
// the byte after it identify a message; more could be somebody's password.
const quoteLen = 5

// explainUnread returns why a payload was not decoded, and a hint on what to do.
func (p *Plan) explainUnread(m *plannedPayload) (why, hint string) {
	b := m.content()
	switch {
	case m.isPacket && m.packet.Stop != packet.OK && m.packet.Stop != packet.TCP:
		return "a whole packet with nothing to decode: " + m.packet.Stop.String(), ""
	case m.isPacket && m.packet.Frag.Set:
		return "a fragment of an IP packet: without the first one nothing can be read", "give all of them"
	case len(b) == 0:
		return "a whole packet that carries nothing", ""
	case wire.IsSplit(b) && len(b) < wire.MinSplitLen:
		return "a part of a split reply that ends in its header", "give all of it"
	case wire.IsSplit(b):
		return "a part of a split message: it repeats another one, or what the parts make is no query", ""
	case m.chosen == nil && len(m.readings) > 1:
		return "could be " + nameReadings(m.readings), "choose with --as"
	case m.chosen != nil:
		return fmt.Sprintf("could be %s of %s, but what is around it says otherwise", m.chosen.typ.Name, m.chosen.proto.Name),
			"give it alone, or with --as " + m.chosen.proto.Name
	case p.As != nil:
		return fmt.Sprintf("%s has no message like this, nor has another protocol: it begins with % x", p.As.Name, b[:min(len(b), quoteLen)]),
			p.suggestFix(m)
	}
	return fmt.Sprintf("no protocol claims it: it begins with % x", b[:min(len(b), quoteLen)]), p.suggestFix(m)
}

// nameReadings lists the message types and protocols of readings.
func nameReadings(rs []reading) string {
	names := make([]string, len(rs))
	for i, r := range rs {
		names[i] = fmt.Sprintf("%s of %s", r.typ.Name, r.proto.Name)
	}
	return strings.Join(names, ", or ")
}

// suggestFix returns a hint on what may be wrong with a payload that no protocol reads: how
// its bytes were changed before, or which protocol reads the longest beginning of it.
func (p *Plan) suggestFix(m *plannedPayload) string {
	b := m.content()
	var names []string
	for n := min(len(b)-1, 64); n > 0 && len(names) == 0; n-- {
		for _, r := range p.probe(b[:n]) {
			names = append(names, r.proto.Name)
		}
	}
	names = slices.Compact(names)
	isFile := file.NotPayload("FILE", b)
	switch {
	case bytes.HasPrefix(b, []byte("\u00ff\u00ff")) || bytes.HasPrefix(b, []byte("\u00fe\u00ff")):
		return "the bytes became text, and the text UTF-8: print them in hexadecimal or with \\xff escapes"
	case bytes.HasPrefix(b, []byte("\ufffd")):
		return "the bytes became text and were lost in it: print them in hexadecimal or with \\xff escapes"
	case isFile != nil:
		return "what was dumped " + isFile.Reason + ": " + isFile.Hint
	case wire.IsSingle(b):
		return "the engines' mark is there, but what follows is no message of theirs: is a byte missing or changed?"
	case m.Form == payload.Base64:
		return "it was read as base64: hexadecimal has the digits 0 to 9 and a to f"
	case len(names) > 0:
		return fmt.Sprintf("its start reads as %s: --as %s shows how far", strings.Join(names, " or "), names[0])
	}
	return "--as names the protocol if you know it; FF FF FF FF is missing if a program cut it off"
}
