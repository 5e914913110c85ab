package schema

import (
	"reflect"

	"qsniff/internal/flood"
	"qsniff/internal/render/manual"
)

// reportRecord is what the page of a report shows. Parts that other commands print have their promise; the others are the
// page's own.
func reportRecord() shape {
	numbers := list(count)
	row := []member{trial("rest", onlyTrue, "all that have no row"), trial("requests", numbers, "by interval"), trial("answered", numbers, "by interval"), trial("unanswered", numbers, "by interval"), trial("replied", numbers, "by interval"), trial("proven", numbers, "by interval"), trial("proven_served", numbers, "by interval"), trial("replies", numbers, "by interval"),
		trial("bytes_in", numbers, "by interval"), trial("bytes_out", numbers, "by interval"), trial("rtt", list(numbers), "by interval: first bucket of response times, and counts")}
	named := []member{trial("protocol", text, "of the message"), trial("message", shape{"type": []string{"string", "null"}}, "type of the message")}
	kinds := list(object(join(named, []member{trial("rest", onlyTrue, "all that have no row"), must("requests", count, "of it"), must("answered", count, "of them"), must("unanswered", count, "of them")})...))
	asking := list(object(must("address", address, "of the client"), must("requests", count, "its requests"), must("error", count, "by how many they may be too many")))
	timeline := object(must("start", timestamp, "of the first interval"), must("interval_s", ratio, "length of an interval"), must("points", count, "how many there are"), must("bucket_ms", list(ratio), "begins of the buckets of response times"),
		must("kinds", list(object(append(named, row...)...)), "by message"), must("servers", list(object(append(row, trial("server", text, "address and port"), trial("kinds", kinds, "what it was asked"), trial("clients", asking, "by whom"))...)), "by server"),
		must("clients", list(object(row[0], row[1], trial("address", address, "of the client"))), "by client"))
	byLevel := object(must(flood.Alert.String(), count, "attacks"), must(flood.Warn.String(), count, "what may be one"), must(flood.Info.String(), count, "worth knowing"))
	notes := object(must("queries", count, "that were judged"), must("replies", count, "to them"), must("junk", count, "datagrams that begin like queries"), must("logins", count, "at consoles"), must("servers", count, "that were asked"),
		may("servers_estimated", onlyTrue, "their number is an estimate"), may("only", shape{"enum": []string{"requests", "replies"}}, "the only direction that the capture has"), must("incidents", byLevel, "found"),
		must("unlisted", object(must("no_room", count, "for them"), must("elsewhere", count, "at servers that were not asked for"), must("not_opened", count, "because too many were open")), "incidents that are not listed"),
		may("full_tables", list(text), "tables that were full"), may("other_traffic", ref("other_traffic"), "what else came"))
	explain := object(must("features", mapOf(text), "what the features mean that are missing in incidents"))
	explain["additionalProperties"] = shape{"anyOf": []shape{ofStruct(reflect.TypeFor[manual.Finding]()), ofStruct(reflect.TypeFor[manual.Kind]())}}
	return record("report", 1, must("version", text, "of qsniff"), must("command", text, "that was run"),
		must("files", list(object(must("name", text, "without its folder"), may("bytes", count, "its size"))), "what was read"),
		must("redacted", onlyTrue, "secrets are left out"), may("anonymized", onlyTrue, "addresses and names are replaced"),
		must("stats", ref("stats"), "as stats prints it"), trial("timeline", timeline, "rows of charts"), must("incidents", list(ref("incident")), "as floods prints them"), trial("notes", notes, "what the judgement about floods rests on"),
		may("findings", list(ref("finding")), "as findings prints them"), trial("explain", explain, "what explain prints of findings and kinds that occur"),
		may("sampled_after", count, "exchanges after which only some were kept"),
		must("exchanges", list(shape{"anyOf": []shape{ref("exchange"), ref("connection")}}), "as follow prints them"),
		must("left_out", object(must("exchanges", count, "that have no room"), must("servers", count, "that have no row"), must("clients", count, "that have no row"), must("incidents", count, "that have no room"),
			must("findings", count, "that have no room"), may("packets", count, "that could not be anonymized")), "what is not in the report"))
}
