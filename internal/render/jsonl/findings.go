package jsonl

import (
	"net/netip"

	"qsniff/internal/flood"
	"qsniff/internal/render"
	"qsniff/internal/track/stats"
)

// repeatedFinding is what is wrong or notable, with its repeats. AppendRecord writes those among messages.
type repeatedFinding struct {
	runHead
	Event        eventName    `json:"event,omitempty" jsonschema:"in --tell FILE: what happened to the finding"`
	Thread       text         `json:"thread,omitempty" jsonschema:"in --tell FILE: the same in all events of the finding"`
	ID           findingID    `json:"id" jsonschema:"stable id: qsniff explain ID"`
	Severity     severityName `json:"severity" jsonschema:"how much it matters"`
	Fault        faultName    `json:"fault" jsonschema:"the party to look at"`
	Time         *moment      `json:"time,omitempty" jsonschema:"of the first one"`
	Last         *moment      `json:"last,omitempty" jsonschema:"of the last one, where repeats are one line"`
	Frame        frame        `json:"frame,omitempty" jsonschema:"packet that decided the first one, in findings"`
	Frames       []frame      `json:"frames" jsonschema:"packets that show it, the first few"`
	Server       string       `json:"server,omitempty" jsonschema:"the server that it is about, without a port where it had several"`
	Client       string       `json:"client,omitempty" jsonschema:"the client, without a port where it had several"`
	Text         text         `json:"text" jsonschema:"the finding in a sentence, with the figures of the first one"`
	Count        uint64       `json:"count" jsonschema:"repeats between the same ends"`
	EvictedPairs uint64       `json:"evicted_pairs,omitempty" jsonschema:"of a line for all ends that were evicted from the table: how many"`
}

// AppendFindings appends a line for each finding, with the number of its repeats between the
// same server and client. Of pairs that were evicted there is one line for each kind, with
// their number.
func AppendFindings(dst []byte, f *render.Findings) []byte {
	for i := range f.Repeats {
		x := findingOf(&f.Repeats[i])
		x.Interrupted = interruptionOf(&f.Run)
		dst = appendLine(dst, x)
	}
	return dst
}

// AppendFindingEvent appends an event of a finding that repeats as a line, with its repeats up to
// that time: event is one of those of incidents.
func AppendFindingEvent(dst []byte, thread string, event flood.Event, r *stats.Repeats) []byte {
	x := findingOf(r)
	x.Event, x.Thread = eventName(event.String()), text(thread)
	return appendLine(dst, x)
}

func findingOf(r *stats.Repeats) *repeatedFinding {
	return &repeatedFinding{
		runHead:      runHead{named: named{schema, "finding"}},
		ID:           findingID(r.Expert.Code.ID),
		Severity:     severityName(r.Expert.Severity.String()),
		Fault:        faultName(r.Expert.Code.Fault.String()),
		Time:         new(moment(r.First)),
		Last:         new(moment(r.Last)),
		Frame:        frame(r.Frame),
		Frames:       transform(r.Frames, func(f *uint64) frame { return frame(*f) }),
		Server:       shortEnd(r.Server),
		Client:       shortEnd(r.Client),
		Text:         text(r.AppendText(nil)),
		Count:        r.Count,
		EvictedPairs: r.Evicted,
	}
}

// shortEnd returns one end of a flow, without a port where it had several; empty if there is none.
func shortEnd(end netip.AddrPort) string {
	if !end.IsValid() {
		return ""
	}
	return string(appendEnd(nil, end))
}
