package jsonl

import (
	"qsniff/internal/flood"
	"qsniff/internal/render"
)

// rules is the detector: what users set, what its verdicts are, and what is measured for them.
type rules struct {
	Schema     int         `json:"schema"`
	Thresholds []threshold `json:"thresholds" jsonschema:"what users set"`
	Rules      []rule      `json:"rules" jsonschema:"experimental: verdicts"`
	Features   []feature   `json:"features" jsonschema:"experimental: what is measured"`
}

type threshold struct {
	Name    string `json:"name" jsonschema:"of the threshold"`
	Value   string `json:"value" jsonschema:"in this run"`
	Default string `json:"default" jsonschema:"without a file of thresholds"`
	Doc     text   `json:"doc" jsonschema:"what it limits"`
}

type rule struct {
	Name  string    `json:"name" jsonschema:"of the rule"`
	Level levelName `json:"level,omitempty" jsonschema:"of its incidents"`
	Doc   text      `json:"doc" jsonschema:"what it means"`
	Needs []need    `json:"needs" jsonschema:"what must hold"`
	Signs []sign    `json:"signs" jsonschema:"what adds to the confidence"`
}

type need struct {
	Feature   string `json:"feature,omitempty" jsonschema:"what is compared"`
	Is        string `json:"is" jsonschema:"how"`
	Value     number `json:"value" jsonschema:"with what"`
	Threshold string `json:"threshold,omitempty" jsonschema:"that sets the value"`
	Doc       text   `json:"doc" jsonschema:"in words"`
}

type sign struct {
	Points number `json:"points" jsonschema:"of evidence"`
	Doc    text   `json:"doc" jsonschema:"for what"`
}

type feature struct {
	Name string `json:"name" jsonschema:"of the feature"`
	Doc  text   `json:"doc" jsonschema:"what it measures"`
}

// AppendRules appends all thresholds, rules and features as one object on a line.
func AppendRules(dst []byte, r *flood.Explanation) []byte {
	return appendLine(dst, &rules{
		Schema: schema,
		Thresholds: transform(r.Settings, func(s *flood.Setting) threshold {
			return threshold{s.Name, unquoteSetting(s.Value), unquoteSetting(s.Default), text(s.Doc)}
		}),
		Rules:    transform(r.Rules, ruleOf),
		Features: transform(r.Meanings, func(m *flood.Meaning) feature { return feature{m.Name, text(m.Text)} }),
	})
}

func ruleOf(r *flood.RuleDoc) rule {
	x := rule{
		Name: r.Name,
		Doc:  text(r.Meaning),
		Needs: transform(r.Needs, func(n *flood.NeedDoc) need {
			return need{n.Feature, n.Comparison, number(n.Value), n.Setting, text(n.Text)}
		}),
		Signs: transform(r.Signs, func(s *flood.SignDoc) sign { return sign{number(s.Points), text(s.Text)} }),
	}
	if r.Kind != 0 {
		x.Level = levelName(r.Level.String())
	}
	return x
}

// unquoteSetting returns a value without the quotation marks that durations have in files.
func unquoteSetting(s string) string {
	if n := len(s); n > 1 && s[0] == '"' {
		return s[1 : n-1]
	}
	return s
}

// otherTraffic is what else came than queries, to hosts with servers, and how many floods there were:
// that there was little else does not mean that it was calm.
type otherTraffic struct {
	named
	QueryFloods uint64  `json:"query_floods" jsonschema:"floods of queries that were found"`
	OtherFloods uint64  `json:"other_floods" jsonschema:"other floods that were found"`
	Packets     uint64  `json:"packets" jsonschema:"packets that are no queries"`
	Bytes       uint64  `json:"bytes" jsonschema:"their bytes"`
	SessionPeak uint64  `json:"session_peak_qps" jsonschema:"packets of games in their busiest second"`
	Peak        *uint64 `json:"peak_qps,omitempty" jsonschema:"packets in the busiest second of a host"`
	PeakBytes   *uint64 `json:"peak_bytes,omitempty" jsonschema:"their bytes"`
	Class       string  `json:"class,omitempty" jsonschema:"what most of them are"`
	Target      target  `json:"target,omitempty" jsonschema:"the host"`
}

// AppendOther appends a line with what else came than queries; nothing where nothing did.
func AppendOther(dst []byte, f *render.Floods) []byte {
	if f.Other.Packets == 0 {
		return dst
	}
	found := func(n *[flood.Alert + 1]uint64) uint64 { return n[flood.Alert] + n[flood.Warn] }
	x := &otherTraffic{
		named:       named{schema, "other_traffic"},
		QueryFloods: found(&f.Counts) - found(&f.Others),
		OtherFloods: found(&f.Others),
		Packets:     f.Other.Packets,
		Bytes:       f.Other.Bytes,
		SessionPeak: f.Sessions,
	}
	if p := &f.OtherPeak; p.Packets > 0 {
		x.Peak, x.PeakBytes, x.Target = &p.Packets, &p.Bytes, target(flood.OtherTarget(p).String())
		if p.Class != nil {
			x.Class = p.Class.Name
		}
	}
	return appendLine(dst, x)
}
