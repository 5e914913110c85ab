package jsonl

import (
	"net/netip"
	"strconv"

	"qsniff/internal/base/jsonw"
	"qsniff/internal/flood"
	"qsniff/internal/render"
	"qsniff/internal/render/tally"
)

// AppendIncident appends an incident that is over as a line, with what the run knows of its target, and
// with its features if these are wanted.
func AppendIncident(dst []byte, in *flood.Incident, run *tally.Run, features bool) []byte {
	w := writer{dst: dst}
	w.open('{')
	w.uint("schema", incidentSchema)
	w.text("record", "incident")
	w.writeIncident(in, run)
	if features {
		w.object("weight")
		w.float("value", in.Weight.Value)
		w.text("basis", in.Weight.Basis.String())
		w.close('}')
		w.object("features")
		for _, f := range in.Features {
			w.float(f.Name, f.Value)
		}
		w.close('}')
	}
	w.close('}')
	return append(w.dst, '\n')
}

// AppendIncident appends an event of an incident as a line, with what is known of the
// incident at that time.
func (r *Renderer) AppendIncident(dst []byte, x *render.IncidentEvent) []byte {
	w := writer{dst: dst}
	w.open('{')
	w.uint("schema", incidentSchema)
	w.text("record", "incident")
	w.text("event", x.Event.String())
	w.writeThread(x.Thread)
	w.time("time", x.Nanos)
	w.writeIncident(x.Incident, x.Run)
	w.close('}')
	return append(w.dst, '\n')
}

// writeThread appends what all events of an incident or of a finding have in common, if anything.
func (w *writer) writeThread(thread string) {
	if thread != "" {
		w.text("thread", thread)
	}
}

// writeIncident appends the members that both forms have; run may be nil.
func (w *writer) writeIncident(in *flood.Incident, run *tally.Run) {
	w.uint("id", in.ID)
	w.uint("campaign", in.Campaign)
	w.text("kind", in.Kind.String())
	w.text("code", in.Kind.Code())
	w.text("level", in.Level.String())
	w.text("target", in.Target.String())
	if run != nil {
		w.writeInside(run.InnerOf(in.Target.End))
	}
	w.writeTargets(in)
	w.text("protocol", in.Protocol())
	if c := in.Class; c != nil {
		w.text("class", c.Name)
		w.uint("packets", in.Packets)
		w.uint("peak_bytes", in.PeakBytes)
	}
	if run != nil && run.LooksSampled() > 1 {
		w.uint("looks_sampled", run.LooksSampled())
	}
	w.writeFigures(in)
	w.writeKinds(in)
	w.writeSources(in)
	if in.Completion >= 0 {
		w.float("challenge_completion", in.Completion)
		w.uint("challenged", uint64(in.Challenged))
	}
	if in.Answered >= 0 {
		w.float("answered", in.Answered)
	}
	if in.Succeeded {
		w.bool("succeeded", true)
	}
	w.writeLeak(&in.Leak)
	w.list("kind_history", len(in.History), func(i int) {
		w.text("kind", in.History[i].Kind.String())
		w.time("until", in.History[i].Nanos)
	})
	w.float("confidence", in.Confidence())
	w.writeEvidence(in.Evidence)
	w.texts("missing", in.Missing)
	w.writeAdvice(&in.Advice)
}

// writeAdvice appends the advice as one text, then its parts.
func (w *writer) writeAdvice(a *flood.Advice) {
	w.text("advice", a.Text())
	w.texts("advice_words", a.Words)
	if a.Rules == nil {
		return
	}
	w.object("rules")
	w.text("nftables", a.Rules.NFTables())
	file, _ := a.Rules.IPTables()
	w.text("iptables", file)
	w.text("measured", a.Measured)
	w.close('}')
}

// incidentSchema is the version of the lines of incidents: in version 1 evidence was a text.
const incidentSchema = 2

// writeTargets appends the servers of a network.
func (w *writer) writeTargets(in *flood.Incident) {
	if in.Servers == 0 {
		return
	}
	var all []string
	for _, t := range in.Targets {
		all = append(all, flood.Target{End: t}.String())
	}
	w.texts("targets", all)
	w.uint("target_count", uint64(in.Servers))
}

// writeFigures appends when the incident was and how much came.
func (w *writer) writeFigures(in *flood.Incident) {
	w.time("start", in.Start)
	w.time("detected", in.Detected)
	if in.End != 0 {
		w.time("end", in.End)
	}
	w.uint("frame", in.Frame)
	w.uint("pulses", uint64(in.Pulses))
	w.float("peak_qps", in.Peak)
	w.float("mean_qps", in.Mean)
	w.float("baseline_qps", in.Baseline)
	w.uint("requests", in.Requests)
	w.uint("replies", in.Replies)
	w.uint("bytes_in", in.BytesIn)
	w.uint("bytes_out", in.BytesOut)
	w.float("amplification", in.Amplification())
	w.uint("sources", uint64(in.Sources+0.5))
	w.float("sources_error", in.SourcesError)
}

// writeEvidence appends the sentences, each with the stretch of time that it is of.
func (w *writer) writeEvidence(all []flood.Sentence) {
	w.list("evidence", len(all), func(i int) {
		s := &all[i]
		w.text("text", s.Text)
		if s.To != 0 {
			w.time("from", s.From)
			w.time("to", s.To)
		}
	})
}

// writeLeak appends what guessed challenges brought, if anything.
func (w *writer) writeLeak(l *flood.Leak) {
	if l.Replies == 0 {
		return
	}
	w.object("leaked")
	w.uint("replies", l.Replies)
	w.uint("bytes", l.Bytes)
	w.list("to", len(l.To), func(i int) {
		w.addr("address", l.To[i].Addr)
		w.uint("replies", l.To[i].Replies)
		w.uint("bytes", l.To[i].Bytes)
	})
	w.close('}')
}

// writeKinds appends the types of the packets, where they are counted: not of replies, logins
// and floods of other packets.
func (w *writer) writeKinds(in *flood.Incident) {
	kinds := in.Kinds()
	if len(kinds) == 0 {
		return
	}
	w.list("kinds", len(kinds), func(i int) {
		k := &kinds[i]
		w.text("type", k.Name())
		w.float("share", k.Share)
		w.uint("packets", k.Packets)
		if k.IsRest {
			return
		}
		w.uint("min_length", uint64(k.MinLen))
		w.uint("max_length", uint64(k.MaxLen))
		if k.CommonLen > 0 {
			w.uint("length", uint64(k.CommonLen))
		}
		w.float("with_challenge", k.WithChallenge)
	})
}

// writeSources appends the busiest sources and networks.
func (w *writer) writeSources(in *flood.Incident) {
	w.list("top_sources", len(in.Top), func(i int) {
		s := &in.Top[i]
		w.addr("address", s.Addr)
		w.uint("count_low", s.Low)
		w.uint("count_high", s.High)
		w.bool("verified", s.Verified)
		w.uint("ports", uint64(s.Ports))
		if s.TTL >= 0 {
			w.uint("ttl", uint64(s.TTL))
		}
	})
	if in.TopOf > 0 {
		w.object("top_window")
		if in.TopTo != 0 {
			w.time("from", in.TopFrom)
			w.time("to", in.TopTo)
		}
		w.uint("packets", in.TopOf)
		w.close('}')
	}
	w.list("top_prefixes", len(in.Prefixes), func(i int) {
		p := &in.Prefixes[i]
		w.text("prefix", p.Prefix.String())
		w.uint("count_low", p.Low)
		w.uint("count_high", p.High)
		w.uint("hosts", uint64(p.Hosts))
	})
}

func (w *writer) addr(name string, a netip.Addr) { w.text(name, a.String()) }

func (w *writer) time(name string, nanos int64) {
	w.key(name)
	w.dst = jsonw.Time(w.dst, nanos)
}

// texts appends an array of strings.
func (w *writer) texts(name string, list []string) {
	w.key(name)
	w.open('[')
	for _, s := range list {
		w.comma()
		w.dst = jsonw.Text(w.dst, s)
	}
	w.close(']')
}

func (w *writer) bool(name string, v bool) {
	w.key(name)
	w.dst = strconv.AppendBool(w.dst, v)
}
