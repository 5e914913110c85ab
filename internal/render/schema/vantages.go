package schema

import "qsniff/internal/app/vantages"

// vantageRecords are those of captures that were made at several clients.
func vantageRecords() []Record {
	evicted := []member{must("servers_evicted", count, "servers, evicted"), must("answers_evicted", count, "series of answers, evicted"), must("paths_evicted", count, "series of handshakes and echoes, evicted"),
		must("trips_evicted", count, "handshakes and echoes, evicted before their second packet"), must("repeated_evicted", count, "exchanges with repeated requests, evicted")}
	capture := object(join([]member{must("name", text, "as it was given"), interrupted, must("packets", count, "in it"), must("messages", count, "in it"),
		may("first", timestamp, "of its first packet"), may("last", timestamp, "of its last packet"), must("dropped", count, "packets that the capturing program lost")}, evicted)...)
	series := object(must("of", names(vantages.Answers, vantages.Echoes, vantages.Origin.String), "what was timed"), may("protocol", text, "of an answer"), may("message", text, "type of an answer"),
		may("port", count, "of the server or its host"), must("count", count, "how many there were"), must("least_ms", ratio, "the shortest time"), must("median_ms", ratio, "the usual time"),
		may("ttl", count, "time to live of the fastest reply"), must("frame", frame, "of the fastest reply, in that capture"))
	point := object(must("capture", count, "index in captures, from 0"), must("asked", count, "exchanges in which it was asked"), must("answered", count, "of them with an answer"),
		must("answers", list(series), "times by kind of answer"), may("path", series, "what shows how long the path is"))
	found := object(must("id", ref("id"), "stable id: qsniff explain ID"), must("severity", severity, "how much it matters"), must("fault", fault, "the party to look at"), must("text", text, "the finding in a sentence"))
	server := record("vantage_server", 1, must("server", end, "that at least two captures asked"), must("verdict", names(vantages.Unanswered, vantages.Flat, vantages.Verdict.String), "what that comes to"),
		may("protocol", text, "of the answers that were judged"), may("message", text, "type of these"), may("near", count, "capture with the shorter path"), may("far", count, "capture with the longer path"),
		may("answers_differ_ms", ratio, "larger difference of least and median times of answers"), may("paths_differ_ms", ratio, "difference of the least times of paths"), may("needed_ms", ratio, "what paths must differ by to be judged"),
		may("sooner", boolean, "whether answers at far come sooner than the path allows"), must("points", list(point), "by capture"), may("findings", list(found), "what is notable"))
	return []Record{
		{"vantages", "captures that were made at several clients", "vantages, as the first line",
			record("vantages", 1, must("captures", list(capture), "in the order in which they were given"), must("unread", count, "captures that Ctrl-C left unread"), must("servers", count, "that at least two captures asked"))},
		{"vantage_server", "how a server answers at several clients", "vantages", server},
	}
}
