package pipeline

import (
	"testing"

	"qsniff/filter"
	"qsniff/internal/test/race"
	"qsniff/render/jsonl"
)

func compile(t testing.TB, text string) *filter.Program {
	t.Helper()
	p, err := filter.Compile(text, registry(t), filter.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// filteredPartitions returns partitions whose results a filter chooses.
func filteredPartitions(t testing.TB, text string) []*partition {
	t.Helper()
	cfg := &Config{Registry: registry(t), Renderer: jsonl.New(jsonl.Options{}), Filter: &Filter{Program: compile(t, text)}}
	parts := make([]*partition, Partitions)
	for i := range parts {
		parts[i] = newPartition(i, cfg, 1)
	}
	return parts
}

// noMatches choose nothing, by what costs little and by what costs much.
var noMatches = []string{"frame.number == 0", `server_name matches "^$^" and a2s.info.players > 300`, "exchange.answered and frame.number == 0"}

// TestFilterAllocations: a filter that chooses nothing takes no memory, and nothing is
// rendered.
func TestFilterAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	batches := prepare(t, mixed(t, 1, unsteady...))
	for _, text := range noMatches {
		parts, seg := filteredPartitions(t, text), new(segment)
		for range 10 {
			workOff(parts, batches, seg)
		}
		if n := testing.AllocsPerRun(10, func() { workOff(parts, batches, seg) }); n != 0 {
			t.Errorf("%s: %v allocations in a pass over %d batches", text, n, len(batches))
		}
		if cap(seg.buf) > 0 || cap(seg.spans) == 0 {
			t.Errorf("%s: room for %d bytes of text and %d spans", text, cap(seg.buf), cap(seg.spans))
		}
	}
}

// BenchmarkFilterNothing is BenchmarkDecode with a filter that chooses nothing.
func BenchmarkFilterNothing(b *testing.B) {
	for _, text := range noMatches {
		b.Run(text, func(b *testing.B) { benchmarkPartitions(b, filteredPartitions(b, text)) })
	}
}

// BenchmarkFilterBase is what a filter is compared with: everything is decoded and paired,
// and nothing is rendered.
func BenchmarkFilterBase(b *testing.B) {
	cfg := &Config{Registry: registry(b), Listener: NewOutcomes(compile(b, "exchange.answered"))}
	parts := make([]*partition, Partitions)
	for i := range parts {
		parts[i] = newPartition(i, cfg, 1)
		parts[i].parser.skipsTexts = false
	}
	benchmarkPartitions(b, parts)
}
