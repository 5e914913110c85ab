package schema

import (
	"qsniff/internal/app/diff"
	"qsniff/internal/app/vantages"
)

// points are where diff captures.
var points = [...]string{"edge", "host"}

var (
	way    = names(diff.UnknownWay, diff.ToClient, diff.Way.String)
	endOr0 = shape{"anyOf": []shape{ref("end"), {"type": "null"}}}
)

// rowCounts are the counts of what went one way.
var rowCounts = []member{must("sent", count, "datagrams that were sent"), must("arrived", count, "that arrived"), must("missing", count, "that did not"), must("kept_between", count, "requests that were answered in between"),
	must("retransmitted", count, "TCP segments that were sent again"), must("late", count, "that took longer than usual"), must("reordered", count, "that were overtaken"), must("changed", count, "with other bytes"), must("duplicated", count, "copies"), must("uncaptured", count, "of those that arrived, at one point only, as the capture of the other lost them"),
	must("reframed", count, "of messages in other datagrams at host than at edge"), must("appeared", count, "that were not sent"), must("injected", count, "of them, TCP resets"), must("answered_between", count, "replies from in between"), must("outside", count, "at times that one capture does not cover"), may("slowest_ms", number, "longest time on the way")}

func diffRecords() []Record {
	var captures, compared []member
	for _, p := range points {
		compared = append(compared, must("packets_"+p, count, "packets of "+p+" that were judged"))
		captures = append(captures, must("packets_"+p, count, "packets of "+p), must("datagrams_"+p, count, "datagrams in "+p), must("segments_"+p, count, "TCP segments of consoles, compared"), must("outside_"+p, count, "that the other capture does not cover"),
			must("unmatched_"+p, count, "that the display filter did not choose"), must("tcp_"+p, count, "other TCP segments, not compared"), must("others_"+p, count, "other packets, not compared"), must("cut_"+p, count, "that the snap length cut"), must("incomplete_"+p, count, "incomplete sets of IP fragments"),
			must("uncaptured_"+p, count, "datagrams that passed there and are not in the capture"))
	}
	clock := []member{must("pairs", count, "that the clocks were compared by"), may("doubtful", boolean, "whether both have too little in common to be of the same traffic"), may("offset_ms", number, "of host's clock"), may("error_ms", ratio, "of the offset, at most"), may("drift_ppm", number, "of host's clock"),
		may("drift_error_ppm", number, "of the drift"), may("reversed", boolean, "whether clients are behind host")}
	for w := diff.ToServer; w <= diff.ToClient; w++ {
		clock = append(clock, may("usual_"+w.String()+"_ms", number, "usual time on the way"))
	}
	limit := object(must("through", count, "longest payload that arrived"), must("lost_from", count, "shortest payload that is always lost"), must("above", count, "longer ones"), must("lost_above", count, "of them lost"),
		must("below", count, "shorter ones"), must("lost_below", count, "of them lost"))
	oneWay := object(append(rowCounts, may("size_limit", limit, "a size above which datagrams are lost"))...)
	kind := join([]member{must("server", endOr0, "one of several where it is null"), may("protocol", text, "of the message"), must("message", text, "type of the message"), must("way", way, "where it goes")}, rowCounts,
		[]member{must("filtered", boolean, "whether it looks filtered"), may("first_missing_frame_edge", frame, "of the first lost one"), may("first_missing_frame_host", frame, "of the first one that was not sent")})
	oneSided := []member{must("side", shape{"enum": points}, "where it is"), must("server", endOr0, "as named there"), must("client", endOr0, "as named there"), must("time", timestamp, "of its first segment, in host's clock"), must("frame", frame, "of its first segment"),
		must("segments", count, "of it"), must("answered", boolean, "whether something accepted it")}
	summary := record("summary", 1, join([]member{may("interrupted", object(compared...), "how far the run came, if Ctrl-C ended it")}, captures, []member{must("matched", count, "datagrams at both points"), must("lost", count, "at edge only"), must("extra", count, "at host only"), must("retransmitted", count, "TCP segments that were sent again"), must("late", count, "slower than usual"),
		must("duplicated", count, "copies"), must("reordered", count, "overtaken"), must("changed", count, "with other bytes"), must("reframed", count, "messages in other datagrams at host than at edge"), must("injected", count, "TCP resets that the other end did not send"), must("answered_between", count, "replies from in between"), must("kept_between", count, "requests answered in between"),
		must("judged_early", count, "because the table was full"), must("unlisted", count, "differences that had no room"), must("untracked", count, "ends whose translation had no room"),
		must("no_row", count, "datagrams in the row without a server"), must("no_kind", count, "datagrams whose message had no room"), must("no_bytes", count, "changed datagrams whose bytes had no room"),
		must("no_sets", count, "messages in parts that had no room"), must("no_pieces", count, "fragments whose frames had no room"), must("servers_evicted", count, "ends that serve, evicted"),
		must("replies_evicted", count, "contents of replies, evicted"), must("connections_evicted", count, "connections, and directions of them, evicted"), may("compared_bytes", count, "of each datagram, where a capture cut them"),
		must("clock", object(clock...), "host's clock against edge's"),
		must("translation", list(object(must("edge", text, "address there"), must("host", text, "address there"), must("datagrams", count, "with it"), must("server", boolean, "whether it is a server's"), may("tcp", boolean, "whether the port is of TCP"))), "translated addresses"),
		must("connections", object(must("both", count, "at both points"), must("edge_only", count, "at edge only"), must("host_only", count, "at host only"), must("one_sided", list(object(oneSided...)), "the first ones that are at one point only")), "of consoles over TCP"),
		must("to_server", oneWay, "requests"), must("to_client", oneWay, "replies"), must("kinds", list(object(kind...)), "by server, message and way")})...)

	var ends []member
	for _, p := range points {
		ends = append(ends, may("frame_"+p, frame, "at "+p), may("length_"+p, count, "of payload"), may("ttl_"+p, count, "time to live"), may("datagrams_"+p, count, "of a message in other datagrams: how many"))
	}
	value := shape{"type": []string{"string", "number", "null"}}
	changed := object(must("field", text, "name of the field, or where the bytes are"), may("from", value, "at the sender"), may("to", value, "at the receiver"), may("from_length", count, "of hidden bytes"), may("to_length", count, "of hidden bytes"))
	difference := object(join([]member{must("schema", constant(1), "version of the output format"), must("class", names(diff.Retransmitted, diff.AnsweredBetween, diff.Class.String), "what became of it"), must("way", way, "where it goes"),
		must("time", timestamp, "in host's clock"), must("server", endOr0, "of its flow"), must("client", endOr0, "of its flow"), may("protocol", text, "of the message"), must("message", text, "type of the message")}, ends,
		[]member{may("delay_ms", number, "time on the way"), may("request_frame", frame, "of an answer from in between: its request"), may("same_bytes_frame", frame, "of such an answer: the reply that it repeats"), may("age_ms", number, "of these bytes"),
			may("usual_ttl", count, "of the server's own replies"), may("changed", list(changed), "what was changed"), may("changed_more", count, "fields that are not listed")})...)
	return []Record{
		{"summary", "two captures of the same traffic, compared", "diff, as the first line", summary},
		{"difference", "a datagram that is not the same at both points", "diff", difference},
	}
}

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
