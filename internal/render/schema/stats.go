package schema

import (
	"qsniff/internal/render/counters"
)

// times is a distribution of times.
var times = object(must("p50", ratio, "half are faster"), must("p95", ratio, "95 % are faster"), must("p99", ratio, "99 % are faster"), must("max", ratio, "the slowest"),
	must("count", count, "how many there are"), must("error", ratio, "relative error of the percentiles"))

var gain = object(must("payload", ratio, "of payloads"), must("wire", ratio, "of frames"))

// message names a kind of message.
var message = []member{must("protocol", text, "of the message"), must("message", shape{"type": []string{"string", "null"}}, "type of the message")}

func join(groups ...[]member) (all []member) {
	for _, g := range groups {
		all = append(all, g...)
	}
	return all
}

// countersOf are the members of a group of counters.
func countersOf(g counters.Group) (ms []member) {
	for _, e := range counters.Of(g) {
		ms = append(ms, member{name: e.Name, of: count, doc: e.Doc, isRequired: e.IsAlwaysInJSON && !e.IsExperimental, isExperimental: e.IsExperimental})
	}
	return ms
}

func statsRecord() shape {
	ms := join([]member{must("schema", constant(1), "version of the output format"), interrupted}, countersOf(counters.Totals), countersOf(counters.Requests), countersOf(counters.Servers), []member{
		may("start", timestamp, "of the first packet"), may("end", timestamp, "of the last packet"), may("duration_s", number, "from the one to the other"),
		may("only", shape{"enum": []string{"requests", "replies"}}, "the only direction that the capture has"),
		trial("looks_sampled", count, "at least of how many packets the capture seems to have one"),
		trial("remarks", list(text), "what must be known before these figures are read"),
		must("skipped", mapOf(count), "packets that are no messages, by reason"),
		must("messages", list(object(append(message, must("direction", ref("direction"), "where it goes"), must("count", count, "how many"), must("bytes", count, "of payload"))...)), "messages by type"),
		may("challenge_ms", times, "from a request to its challenge"), may("rtt_ms", times, "from a request to its answer"), may("train_ms", times, "from the first part of a reply to the last"),
		may("total_ms", times, "from the first request to the whole answer"),
		must("amplification", list(object(append(message, may("before_challenge", gainOfAnswers, "without a challenge"), may("after_challenge", gainOfAnswers, "with one"))...)), "bytes out for a byte in, by request"),
		must("servers", list(serverShape()), "busiest servers"), must("clients", list(object(join([]member{must("address", address, "of the client"), must("requests", count, "its requests"),
			must("share", share, "of all requests"), must("error", count, "by how many its requests may be too many")}, program)...)), "busiest clients"),
		must("programs", list(object(append(program, must("clients", count, "clients that are this program"), must("requests", count, "their requests"))...)), "programs that ask"),
		must("distinct_clients", object(must("estimate", count, "how many"), must("error", ratio, "relative error, at most"), must("standard_error", ratio, "relative standard error")), "clients in all"),
		must("findings", list(object(must("id", ref("id"), "qsniff explain ID"), must("severity", severity, "how much it matters"), must("count", count, "how many"), must("first_frame", count, "packet of the first one"))), "findings by id"),
		must("interval_s", ratio, "of series"),
		must("series", list(object(must("t", number, "seconds since start"), must("requests", count, "in the interval"), must("replies", count, "in the interval"),
			must("bytes_in", count, "of requests"), must("bytes_out", count, "of replies"))), "rates over time"),
	})
	for g := range counters.NumGroups {
		if g.Object() != "" {
			ms = append(ms, may(g.Object(), object(countersOf(g)...), g.Title()))
		}
	}
	return object(ms...)
}

var gainOfAnswers = object(must("answers", count, "how many"), must("payload", ratio, "of payloads"), must("wire", ratio, "of frames"))

// program is what the requests of a client show of it.
var program = []member{trial("name", text, "of the program"), trial("confidence", confidence, "how sure that is, of a known program"), trial("signs", list(text), "what it shows")}

func serverShape() shape {
	return withBytes(object(must("server", text, "address and port"), trial("inside", list(text), "addresses that the capturing host translates it to"), may("name", text, "as the server says"), may("map", text, "as the server says"), may("players", count, "as the server says"),
		may("max_players", count, "as the server says"), trial("bots", count, "of the players, if there are some"), trial("queue", count, "players who wait for a slot, if there are some"), must("requests", count, "to it"), must("replies", count, "of it"), must("answered", count, "requests that were answered"),
		must("unanswered", count, "requests that were not"), trial("replied", count, "requests with any reply, a challenge included"),
		trial("proven", count, "requests that brought back a challenge of this server, and are decided"), trial("proven_served", count, "of these, got what they asked for"), must("late", count, "answers after the wait"), may("icmp_errors", count, "errors about its port"),
		must("bytes_in", count, "payload of requests"), must("bytes_out", count, "payload of replies"), must("wire_in", count, "frames of requests"), must("wire_out", count, "frames of replies"),
		may("amplification", gain, "bytes out for a byte in"), may("challenged", shape{"enum": []string{"always", "never", "sometimes"}}, "whether it demands a challenge"),
		may("challenged_share", share, "share of requests that it challenged"), may("rtt_ms", times, "from a request to its answer"), may("challenge_ms", ratio, "median time to a challenge"),
		may("train_ms", ratio, "median time from the first part of a reply to the last")), []string{"name", "map"}, nil)
}
