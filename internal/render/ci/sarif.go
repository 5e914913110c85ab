package ci

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"qsniff/dissect/finding"
	"qsniff/internal/track/stats"
)

// What a log in SARIF 2.1.0 consists of. Names are those of the standard.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool       `json:"tool"`
		Artifacts  []sarifArtifact `json:"artifacts"`
		Results    []sarifResult   `json:"results"`
		ColumnKind string          `json:"columnKind"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID      string            `json:"id"`
		Short   sarifText         `json:"shortDescription"`
		Full    sarifText         `json:"fullDescription"`
		Help    sarifText         `json:"help"`
		HelpURI string            `json:"helpUri,omitempty"`
		Default sarifDefault      `json:"defaultConfiguration"`
		Props   map[string]string `json:"properties"`
	}
	sarifDefault struct {
		Level string `json:"level"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifArtifact struct {
		Location sarifPlace `json:"location"`
	}
	sarifPlace struct {
		URI   string `json:"uri"`
		Index int    `json:"index"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Kind         string            `json:"kind"`
		Level        string            `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
		Occurrences  uint64            `json:"occurrenceCount"`
		Props        map[string]any    `json:"properties"`
	}
	sarifLocation struct {
		Physical struct {
			Artifact sarifPlace   `json:"artifactLocation"`
			Region   *sarifRegion `json:"region,omitempty"`
		} `json:"physicalLocation"`
		Logical []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifRegion struct {
		StartLine uint64 `json:"startLine"`
	}
	sarifLogical struct {
		Name string `json:"name"`
		Kind string `json:"kind"`
	}
)

// sarifSchema is where the schema of the standard lies.
const sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

// sarifLevels are the levels of severities. A normal event is no problem: "none", of the kind "informational".
var sarifLevels = map[finding.Severity]string{finding.Chat: "none", finding.Note: "note", finding.Warn: "warning", finding.Error: "error"}

// AppendSARIF appends the findings of captures as a log of one run: a rule for each kind of finding that there is, a result for each
// finding, at its first frames. The line of a region is the number of a frame, because a capture has no lines and those who show
// results want one.
func AppendSARIF(dst []byte, version string, captures []Capture) ([]byte, error) {
	run := sarifRun{Tool: sarifTool{sarifDriver{Name: "qsniff", Version: version, Rules: []sarifRule{}}}, Artifacts: []sarifArtifact{}, Results: []sarifResult{}, ColumnKind: "unicodeCodePoints"}
	rules := map[*finding.Code]int{}
	for i := range captures {
		c := &captures[i]
		place := sarifPlace{uri(c.Name), i}
		run.Artifacts = append(run.Artifacts, sarifArtifact{place})
		for j := range c.Repeats {
			r := &c.Repeats[j]
			code := r.Expert.Code
			index, ok := rules[code]
			if !ok {
				index = len(rules)
				rules[code] = index
				run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, newRule(code))
			}
			run.Results = append(run.Results, newResult(r, index, place))
		}
	}
	out, err := json.MarshalIndent(&sarifLog{sarifSchema, "2.1.0", []sarifRun{run}}, "", " ")
	if err != nil {
		return dst, fmt.Errorf("SARIF: %w", err)
	}
	return append(append(dst, out...), '\n'), nil
}

func newRule(c *finding.Code) sarifRule {
	r := sarifRule{ID: c.ID, Short: sarifText{c.Seen}, Full: sarifText{c.Means}, Help: sarifText{c.Do()}, Default: sarifDefault{sarifLevels[c.Severity]}, Props: map[string]string{"fault": c.Fault.String()}}
	if strings.HasPrefix(c.Ref, "https://") {
		r.HelpURI = c.Ref
	} else if c.Ref != "" {
		r.Props["reference"] = c.Ref
	}
	return r
}

func newResult(r *stats.Repeats, rule int, place sarifPlace) sarifResult {
	e := &r.Expert
	x := sarifResult{RuleID: e.Code.ID, RuleIndex: rule, Kind: "fail", Level: sarifLevels[e.Severity], Message: sarifText{sentence(r)}, Occurrences: max(1, r.Count),
		Fingerprints: map[string]string{"findingOfEnds/v1": e.Code.ID + " " + end(r.Server) + " " + end(r.Client)}, Props: map[string]any{"severity": e.Severity.String(), "frames": append([]uint64{}, r.Frames...)}}
	if e.Severity == finding.Chat {
		x.Kind = "informational"
	}
	var l sarifLocation
	l.Physical.Artifact = place
	for i, f := range r.Frames {
		if i == 0 {
			l.Physical.Region = &sarifRegion{f}
		}
		l.Logical = append(l.Logical, sarifLogical{"frame " + strconv.FormatUint(f, 10), "member"})
	}
	x.Locations = []sarifLocation{l}
	return x
}
