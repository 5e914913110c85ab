package manual

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"qsniff/finding"
	"qsniff/flood"
)

// Finding is one kind of finding.
type Finding struct {
	ID        string `json:"id"`
	Severity  string `json:"severity"`
	Fault     string `json:"fault"`
	Seen      string `json:"seen"`
	Means     string `json:"means"`
	Do        string `json:"do"`
	Reference string `json:"reference,omitempty"`
}

// Findings returns codes in the order of their ids. Each code is listed once, however many
// stages declare that they raise it.
func Findings(codes []*finding.Code) []Finding {
	var fs []Finding
	for _, c := range codes {
		fs = append(fs, Finding{ID: c.ID, Severity: c.Severity.String(), Fault: c.Fault.String(),
			Seen: toSentence(c.Seen), Means: toSentence(c.Means), Do: toSentence(c.Do), Reference: c.Ref})
	}
	slices.SortFunc(fs, func(a, b Finding) int { return strings.Compare(a.ID, b.ID) })
	return slices.CompactFunc(fs, func(a, b Finding) bool { return a.ID == b.ID })
}

// toSentence returns s with a capital at the beginning and a full stop at the end.
func toSentence(s string) string {
	if s == "" {
		return ""
	}
	r, n := utf8.DecodeRuneInString(s)
	s = string(unicode.ToUpper(r)) + s[n:]
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}

// Kind is one kind of incident that qsniff floods reports.
type Kind struct {
	ID    string `json:"id"`
	Code  string `json:"code"`
	Level string `json:"level"`
	What  string `json:"what"`
	Apart string `json:"apart"`
	Do    string `json:"do"`
}

// Kinds returns the kinds of incidents, alerts first.
func Kinds() []Kind {
	var all []Kind
	for level := flood.Alert; ; level-- {
		for k := flood.NoKind + 1; k < flood.NumKinds; k++ {
			if d := k.Doc(); k.Level() == level {
				all = append(all, Kind{ID: k.String(), Code: d.Code, Level: level.String(), What: d.What, Apart: d.Apart, Do: d.Do})
			}
		}
		if level == flood.Info {
			return all
		}
	}
}

// Unraised is an id that people look up and that nothing raises.
type Unraised struct {
	ID      string `json:"id"`
	What    string `json:"what"`
	Why     string `json:"why"`
	Instead string `json:"instead"`
}

// NotRaised returns the ids that nothing raises, with what reports the same as far as captures show it.
func NotRaised() []Unraised {
	return []Unraised{
		{ID: "DOS-F03", What: "A storm of queries by a tool of one's own.",
			Why: "A capture shows that a source is a program and how often it asks, and not who runs it.",
			Instead: "Such a tool is the incident poller (DOS-P01) as long as it asks less than what opens a flood, and flood_few (DOS-F02) from there on. " +
				"Both list the busiest sources, and which of them are proven to be at their address: where they are yours, let the tool ask less often, and block nothing. " +
				"qsniff stats names the program of a client, and qsniff polls lists what became of its polls."},
		{ID: "LIE-02", What: "A server with the same answer time for clients near and far: an anycast cache, or a ping that is faked.",
			Why: "An answer time is that from where the capture was made. At the server it is the server's own, which is the same for all clients of every honest server; " +
				"at a client there is one path. Equal times in captures of several clients are odd only beside the lengths of their paths, " +
				"and the captures have those from the server's own replies alone: whatever fakes an answer's time fakes a challenge's, too.",
			Instead: "What answers in a server's place shows otherwise: MBX-01, by another TTL, by answers that come sooner than half of the challenge's round trip, " +
				"by bytes that stay the same for a fixed time; and qsniff diff EDGE HOST names the requests that were answered in between, with the age of the answers. " +
				"LIE-01 reports information that nobody requested."},
	}
}
