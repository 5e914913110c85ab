package schema

import "qsniff/internal/flood"

// eventNames are the events of incidents and findings.
var eventNames = names(flood.Begins, flood.Ends, flood.Event.String)

// span is a stretch of time.
var span = []member{may("from", timestamp, "begin of the stretch"), may("to", timestamp, "its end")}

func incidentRecord() shape {
	kind := names(flood.NoKind+1, flood.NumKinds-1, flood.Kind.String)
	top := list(object(must("address", address, "the source"), must("count_low", count, "packets of it, at least"), must("count_high", count, "at most"),
		must("verified", boolean, "whether it proved its address"), must("ports", count, "ports that it sent from"), may("ttl", count, "time to live of its packets")))
	return record("incident", 2,
		may("event", ref("event"), "among messages and in --tell FILE: what happened to it"), may("thread", text, "in --tell FILE: the same in all events of the incident"),
		may("time", timestamp, "of the event"),
		must("id", count, "number in the run"), must("campaign", count, "the same in incidents that belong together"), must("kind", kind, "what it is: qsniff explain KIND"), must("code", ref("id"), "stable id of the kind: qsniff explain ID"),
		must("level", ref("level"), "how urgent it is"), must("target", ref("target"), "what it is about"),
		trial("inside", list(text), "addresses that the capturing host translates the target to"),
		trial("looks_sampled", count, "at least of how many packets the capture seems to have one: rates are as many times higher"),
		may("targets", list(ref("target")), "of a network: servers in it"), may("target_count", count, "of a network: how many servers there are"),
		must("protocol", text, "protocol of its packets, or empty"), may("class", text, "of another flood: what it consists of"), may("packets", count, "of another flood: its packets"),
		may("peak_bytes", count, "of another flood: bytes in its busiest second"),
		must("start", timestamp, "when it began"), must("detected", timestamp, "when that was certain"), may("end", timestamp, "when it ended, unless the capture ends before"),
		must("frame", frame, "first packet of it"), must("pulses", count, "how often it came back"), must("peak_qps", ratio, "packets in its busiest second"),
		must("mean_qps", ratio, "packets a second"), must("baseline_qps", ratio, "packets a second before it"), must("requests", count, "requests in it"), must("replies", count, "replies to it"),
		must("bytes_in", count, "bytes of requests"), must("bytes_out", count, "bytes of replies"), must("amplification", ratio, "bytes out for a byte in"),
		must("sources", count, "estimate of its sources"), must("sources_error", ratio, "relative error of that"),
		may("kinds", list(object(must("type", text, "type of message"), must("share", share, "of the packets"), must("packets", count, "how many"),
			may("min_length", count, "of the shortest"), may("max_length", count, "of the longest"), may("length", count, "that most have"), may("with_challenge", share, "share that brings a challenge"))),
			"what was asked"),
		must("top_sources", top, "busiest sources"), may("top_window", object(append(span, must("packets", count, "in it"))...), "what top_sources and top_prefixes are counted in"),
		must("top_prefixes", list(object(must("prefix", prefix, "the network"), must("count_low", count, "packets of it, at least"), must("count_high", count, "at most"), must("hosts", count, "sources in it"))), "busiest networks"),
		may("challenge_completion", share, "share of challenged sources that brought the challenge back"), may("challenged", count, "sources that were challenged"),
		may("answered", ratio, "share of requests that were answered"), may("succeeded", onlyTrue, "of guessed passwords: a login was accepted"),
		may("leaked", object(must("replies", count, "replies"), must("bytes", count, "their bytes"),
			must("to", list(object(must("address", address, "the receiver"), must("replies", count, "replies to it"), must("bytes", count, "their bytes"))), "busiest receivers")), "what guessed challenges brought"),
		must("kind_history", list(object(must("kind", kind, "what it was taken for"), must("until", timestamp, "until when"))), "kinds that it was taken for before"),
		must("confidence", share, "how sure the kind is"),
		must("evidence", list(object(append([]member{must("text", text, "a sentence with its figures")}, span...)...)), "why"),
		must("missing", list(text), "features that the capture cannot give"),
		must("advice", text, "what to do"), must("advice_words", list(text), "the same without rules, sentence by sentence"),
		may("rules", object(must("nftables", text, "a file for nft -f"), must("iptables", text, "a script"), must("measured", text, "what they would have dropped")), "rules that were tried on the capture"),
		trial("weight", object(trial("value", share, "0 to 1"), trial("basis", names(flood.WholeCapture, flood.NumBases-1, flood.Basis.String), "what the capture gives")),
			"with --explain: how much evidence there is, which decides between verdicts"),
		trial("features", mapOf(orNull(number)), "with --explain: what was measured; null where it could not be"))
}
