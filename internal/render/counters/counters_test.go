package counters

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode"
)

// uncounted are numbers of the results that are no counters, or stand in the output in
// another way, and which.
var uncounted = map[string]string{
	"Run.First": "a time", "Run.Last": "a time", "Run.Read": "a line of its own where a run is interrupted", "Run.Size": "likewise",
	"Live.Away":       "a gauge, for the figures of a monitor",
	"Run.Clock.Frame": "in the sentence about steps", "Run.Clock.Nanos": "a time", "Run.Clock.First": "a length of time",
	"Run.Clock.All": "a length of time", "Run.Clock.Early": "a length of time",
	"Run.Pairing":             "makes the sentence about sampled captures, looks_sampled in JSON",
	"Found.Messages":          "how many messages the findings are in",
	"Run.Messages":            "the sum of the table of messages",
	"Stats.ClientError":       "bounds the counts in the list of clients",
	"Stats.Others":            "a reason in the list of what is left out",
	"Stats.SeriesStart":       "a time",
	"Stats.Interval":          "a length of time",
	"Proofs.Counts":           "says why no source is proven",
	"Limits.Clients":          "the headline of the replay",
	"Limits.ShutOut":          "likewise",
	"Limits.Model":            "what was asked for",
	"Files.Ring.Failing":      "an error",
	"Files.Ring.Present":      "a present state",
	"Files.Ring.PresentBytes": "a present state",
	"Files.Cuts.Held":         "a present state",
	"Files.Cuts.HeldBytes":    "a present state",
	"Files.File.Held":         "a present state",
	"Files.File.Bytes":        "the size of the file",
	"Stats.Distinct":          "an estimate",
	"Stats.Challenge":         "a distribution of times",
	"Stats.Response":          "likewise",
	"Stats.Train":             "likewise",
	"Stats.Total":             "likewise",
	"Seen.servers":            "an estimate",
	"Seen.last":               "a memory of the collector",
	"Limits.ClientsRefused":   "the headline of the replay",
}

// TestEveryCounter: whatever a stage counts is in the list, so that one that is added
// cannot stay unseen.
func TestEveryCounter(t *testing.T) {
	var zero Result
	before := values(&zero)
	used := map[string]bool{}
	var look func(path string, v reflect.Value, r *Result)
	look = func(path string, v reflect.Value, r *Result) {
		if uncounted[path] != "" {
			used[path] = true
			return
		}
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				look(strings.TrimPrefix(path+"."+v.Type().Field(i).Name, "."), v.Field(i), r)
			}
		case reflect.Uint64, reflect.Int64, reflect.Int:
			if !v.CanSet() {
				t.Errorf("%s: a number that no counter can read", path)
				return
			}
			v.Set(reflect.ValueOf(1).Convert(v.Type()))
			if reflect.DeepEqual(before, values(r)) {
				t.Errorf("%s: no counter of the list tells it", path)
			}
			v.SetZero()
		}
	}
	look("", reflect.ValueOf(&zero).Elem(), &zero)
	for path := range uncounted {
		if !used[path] {
			t.Errorf("%s is not there", path)
		}
	}
}

func values(r *Result) []uint64 {
	all := make([]uint64, len(All))
	for i := range All {
		all[i] = All[i].Get(r)
	}
	return all
}

// TestEntries: names are unique, everything has its words, and labels name what is there.
func TestEntries(t *testing.T) {
	seen := map[string]bool{}
	group := Totals
	for i := range All {
		e := &All[i]
		name := fmt.Sprint(e.Group, e.Name)
		if seen[name] || strings.ToLower(e.Name) != e.Name || strings.ContainsFunc(e.Name, unicode.IsSpace) {
			t.Errorf("%s: not a name, or there already", e.Name)
		}
		seen[name] = true
		if !strings.HasSuffix(e.Doc, ".") || !unicode.IsUpper(rune(e.Doc[0])) {
			t.Errorf("%s: %q is not a sentence", e.Name, e.Doc)
		}
		for _, text := range []string{e.Label, e.Hint} {
			if got := (&Result{}).Expand(e, text, formatPlain); strings.ContainsAny(got, "{}|") {
				t.Errorf("%s: %q", e.Name, got)
			}
		}
		if e.Group < group {
			t.Errorf("%s: after those of %q", e.Name, group.Title())
		}
		group = e.Group
	}
	for g := range NumGroups {
		if g.Title() == "" || len(Of(g)) == 0 {
			t.Errorf("group %d has no title or no counters", g)
		}
	}
}

func TestExpand(t *testing.T) {
	var r Result
	r.Run.IP.Fragments, r.Run.IP.Joined, r.Run.TCP.GivenUp, r.Run.Backwards = 1234, 1, 2048, 1
	want := []string{"1 datagram joined from 1,234 fragments of IP", "2.00 KiB of them dropped for room"}
	if got := r.Labels(Reassembly); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	want = []string{"1 packet was older than one before: time went backwards in the capture"}
	if got := r.Hints(Reassembly, Input); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
