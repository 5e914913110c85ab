package schema

import (
	"slices"

	"qsniff/dissect/finding"
	"qsniff/internal/flood"
	"qsniff/internal/render"
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
		"event":     eventNames,
		"level":     names(flood.Info, flood.Alert, flood.Level.String),
		"extent": object(must("packets", count, "packets that were read"), must("bytes_read", count, "bytes of the input that were read"),
			may("bytes_total", count, "size of the input, if it is known")),
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
		{"finding", "what is wrong or notable in the traffic", "findings, read, live, --tell FILE, report", findingRecord()},
		{"incident", "a flood, or an event of one", "floods, read, live, --tell FILE, report", incidentRecord()},
		{"other_traffic", "what else than queries came to hosts with servers", "floods, report", otherTrafficRecord()},
		{"exchange", "a request and all that belongs to it", "exchanges, follow, report", record("exchange", 1, dialogueMembers(false)...)},
		{"connection", "what both ends sent over TCP", "exchanges, follow, report", record("connection", 1, dialogueMembers(true)...)},
		{"interrupted", "how far a run came that Ctrl-C ended, as the last line", "read, follow", record("interrupted", 1, must("packets", count, "packets that were read"),
			must("bytes_read", count, "bytes of the input that were read"), may("bytes_total", count, "size of the input, if it is known"))},
		{"polls", "what became of the polls of a client at a server", "polls", pollsRecord()},
		{"proven", "an address that proved to be its own", "proven", record("proven", 1, interrupted, must("address", address, "the source"),
			must("first", timestamp, "of its first proof"), must("last", timestamp, "of its last proof"), must("how", list(text), "ways in which it was proven"),
			must("proofs", count, "how many there were"), must("servers", list(ref("target")), "those it was proven to, the first few"),
			must("more_servers", boolean, "whether there were more"))},
		{"limits", "what a limiter of an engine would have refused at a server", "floods --limits", limitsRecord()},
		{"rules", "thresholds, rules and features of the detector", "floods --explain", rulesRecord()},
		{"stats", "what a capture comes to", "stats, report", statsRecord()},
		{"summary", "two captures of the same traffic, compared", "diff, as the first line", ofRecord("summary", 1)},
		{"difference", "a datagram that is not the same at both points", "diff", ofRecord("difference", 1)},
	}, vantageRecords(), []Record{{"report", "all parts of a report as one object", "report", reportRecord()}})
}

func findingRecord() shape {
	return record("finding", 1, interrupted,
		may("event", ref("event"), "in --tell FILE: what happened to the finding"), may("thread", text, "in --tell FILE: the same in all events of the finding"),
		must("id", ref("id"), "stable id: qsniff explain ID"), must("severity", severity, "how much it matters"), must("fault", fault, "the party to look at"),
		may("time", timestamp, "of the first one"), may("last", timestamp, "of the last one, where repeats are one line"),
		may("frame", frame, "packet that decided the first one, in findings"), must("frames", list(frame), "packets that show it, the first few"),
		may("server", text, "the server that it is about, without a port where it had several"), may("client", text, "the client, without a port where it had several"),
		must("text", text, "the finding in a sentence, with the figures of the first one"), must("count", count, "repeats between the same ends"),
		may("evicted_pairs", count, "of a line for all ends that were evicted from the table: how many"))
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

func pollsRecord() shape {
	return record("polls", 1, interrupted, must("client", address, "who polls"), must("server", end, "who is polled"),
		may("every_ms", count, "usual time from poll to poll"), must("polls", count, "how many there were"), must("answered", count, "in time"), must("late", count, "after the wait"),
		must("filtered", count, "lost while others were answered"), must("lost", count, "lost otherwise"), must("challenge_unused", count, "with a challenge that was not brought back"),
		must("rejected", count, "by an ICMP error"), must("server_down", count, "at a time when nobody was answered"), must("undecided", count, "without a known outcome"))
}

func limitsRecord() shape {
	refused := list(object(must("address", address, "the source"), must("requests", count, "its requests"), must("refused_per", count, "refused by the limit of a source"),
		must("refused_global", count, "refused by the limit of all sources"), must("first", timestamp, "of the first refusal"), must("last", timestamp, "of the last refusal")))
	return record("limits", 1, interrupted, must("server", text, "the server"),
		must("limits", object(may("name", text, "of the engine"), must("per", ratio, "requests a second of a source"), must("global", ratio, "requests a second of all sources"),
			must("window", count, "seconds over which they are counted")), "what was replayed"),
		must("requests", count, "packets that the limiter counts"), must("refused", count, "those it would refuse"), must("refused_per", count, "by the limit of a source"),
		must("refused_global", count, "by the limit of all sources"),
		may("at_global_limit", object(must("first", timestamp, "first refusal by it"), must("last", timestamp, "last refusal by it"), must("seconds", count, "seconds with such refusals")), "when all sources were limited"),
		may("overruns", count, "sources that the engine's table has no room for"),
		must("clients", object(must("proven", count, "proven sources"), must("refused", count, "those that were refused something"), must("shut_out", count, "those that got nothing"),
			must("requests", count, "their requests"), must("requests_refused", count, "those refused")), "what it would have cost proven sources"),
		must("top_clients", refused, "proven sources that were refused most"), must("top_sources", refused, "sources that were refused most"))
}
