package schema

import (
	"slices"

	"qsniff/dissect/finding"
	"qsniff/internal/flood"
	"qsniff/internal/render"
	"qsniff/internal/render/jsonl"
)

// commonShapes are the definitions that several records refer to.
func commonShapes() map[string]shape {
	return map[string]shape{
		"time":      {"type": "string", "format": "date-time", "pattern": `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.([0-9]{6}|[0-9]{9})Z$`, "description": "time of a packet in UTC"},
		"end":       {"type": "string", "pattern": `^([0-9.]+|\[[0-9a-f:.]+(%[^\]]+)?\]):[0-9]{1,5}$`, "description": "address and port"},
		"target":    {"type": "string", "pattern": `^((udp|tcp)/)?[0-9a-f:.\[\]]+(%.+)?(/[0-9]+)?(:[0-9]+)?$`, "description": "server, host, network with a port, or source of a scan"},
		"frame":     {"type": "integer", "minimum": 1, "description": "number of a packet, from 1 over all inputs"},
		"severity":  names(finding.Chat, finding.Error, finding.Severity.String),
		"fault":     names(finding.Client, finding.Capture, finding.Fault.String),
		"id":        {"type": "string", "pattern": `^[A-Z0-9]{3}-[A-Z]?[0-9]{2}$`, "description": "id of a finding: qsniff explain ID"},
		"transport": {"enum": []string{"udp", "tcp"}},
		"direction": {"enum": []string{"request", "reply"}},
		"event":     names(flood.Begins, flood.Ends, flood.Event.String),
		"level":     names(flood.Info, flood.Alert, flood.Level.String),
		"extent":    ofType(jsonl.Types["extent"]),
	}
}

// interrupted is the member of what is written after a run that the user ended.
var interrupted = may("interrupted", ref("extent"), "how far the run came, if Ctrl-C ended it")

// record begins the members of a record.
func record(name string, version int, ms ...member) shape {
	return object(slices.Concat([]member{must("schema", constant(version), "version of the output format"), must("record", constant(name), "what kind of line it is")}, ms)...)
}

// otherRecords returns the records that are no messages.
func otherRecords() []Record {
	return slices.Concat([]Record{
		{"finding", "what is wrong or notable in the traffic", "findings, read, live, --tell FILE, report", ofRecord("finding", 1)},
		{"incident", "a flood, or an event of one", "floods, read, live, --tell FILE, report", ofRecord("incident", 2)},
		{"other_traffic", "what else than queries came to hosts with servers", "floods, report", ofRecord("other_traffic", 1)},
		{"exchange", "a request and all that belongs to it", "exchanges, follow, report", record("exchange", 1, dialogueMembers(false)...)},
		{"connection", "what both ends sent over TCP", "exchanges, follow, report", record("connection", 1, dialogueMembers(true)...)},
		{"interrupted", "how far a run came that Ctrl-C ended, as the last line", "read, follow", ofRecord("interrupted", 1)},
		{"polls", "what became of the polls of a client at a server", "polls", ofRecord("polls", 1)},
		{"proven", "an address that proved to be its own", "proven", ofRecord("proven", 1)},
		{"limits", "what a limiter of an engine would have refused at a server", "floods --limits", ofRecord("limits", 1)},
		{"rules", "thresholds, rules and features of the detector", "floods --explain", ofRecord("rules", 1)},
		{"stats", "what a capture comes to", "stats, report", statsRecord()},
		{"summary", "two captures of the same traffic, compared", "diff, as the first line", ofRecord("summary", 1)},
		{"difference", "a datagram that is not the same at both points", "diff", ofRecord("difference", 1)},
		{"comparison", "two servers, two clients or two times of a server, compared", "compare, as the first line", ofRecord("comparison", 1)},
		{"contrast", "what one side has otherwise than the other", "compare", ofRecord("contrast", 1)},
		{"vantages", "captures that were made at several clients", "vantages, as the first line", ofRecord("vantages", 1)},
		{"vantage_server", "how a server answers at several clients", "vantages", ofRecord("vantage_server", 1)},
	}, []Record{{"report", "all parts of a report as one object", "report", reportRecord()}})
}

// dialogueMembers are those of exchanges and connections.
func dialogueMembers(isStream bool) []member {
	ms := []member{
		must("id", frame, "frame of its first message"), must("time", timestamp, "of its first message"), must("transport", ref("transport"), "what it came over"),
		may("server", end, "the end that answers"), may("client", end, "the end that asks"),
		trial("client_name", text, "the program that asks, as far as its requests show"), trial("client_confidence", confidence, "how sure that is, of a known program"),
		may("protocol", text, "protocol of its messages"),
		may("rtt_ms", ratio, "from the request to its answer"), may("challenge_ms", ratio, "from the request to the challenge before it"),
		must("duration_ms", ratio, "from its first message to its last"), must("requests", count, "requests in it"), may("challenges", count, "challenges in it"),
		must("replies", count, "replies in it, without challenges"), must("packets", count, "packets that it came in"),
		may("continues", onlyTrue, "there were messages before these"), may("open", onlyTrue, "it was written before it was over, to make room"),
		may("omitted_messages", count, "in report: messages that are left out"),
		may("messages", list(shape{"anyOf": []shape{ref("message"), ref("reply")}}), "of follow and report: its messages"),
		may("records", list(shape{"anyOf": []shape{ref("finding"), ref("reply")}}), "of follow and report: records about it"),
		may("findings", list(ref("id")), "of exchanges: ids of its findings"),
	}
	if isStream {
		return ms
	}
	return append(ms, may("message", text, "type of its first message"), must("outcome", names(render.Undecided, render.Challenged, render.Outcome.String), "how it ended"))
}
