package pipeline

import (
	"testing"

	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/test/protos"
	"qsniff/internal/test/race"
)

func compile(t testing.TB, text string) *filter.Program {
	t.Helper()
	p, err := filter.Compile(text, protos.Registry(t), filter.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// filteredPartitions returns partitions whose results a filter chooses.
func filteredPartitions(t testing.TB, text string) []*partition {
	t.Helper()
	return partitionsOf(&Config{Registry: protos.Registry(t), Renderer: jsonl.New(jsonl.Options{}), Filter: &Filter{Program: compile(t, text)}})
}

func partitionsOf(cfg *Config) []*partition {
	parts := make([]*partition, Partitions)
	for i := range parts {
		parts[i] = newPartition(i, cfg, 1)
	}
	return parts
}

// noMatches choose nothing, by what costs little and by what costs much.
var noMatches = []string{"a2s.info.players > 250", "frame.number == 0", `server_name matches "^$^" and a2s.info.players > 300`, "exchange.answered and frame.number == 0"}

// TestFilterAllocations: a filter that chooses nothing takes no memory, and nothing is
// rendered.
func TestFilterAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	batches := prepare(t, mixed(t, 1, unsteady...))
	texts := noMatches
	if testing.Short() {
		texts = noMatches[2:3] // which looks at most
	}
	for _, text := range texts {
		parts, seg := filteredPartitions(t, text), new(segment)
		for range 10 {
			workOff(parts, batches, seg)
		}
		if n := testing.AllocsPerRun(10, func() { workOff(parts, batches, seg) }); n != 0 {
			t.Errorf("%s: %v allocations in a pass over %d batches", text, n, len(batches))
		}
		n := uint64(0)
		for _, p := range parts {
			n += p.totals().unmatched
		}
		const notes = 20 // damage is reported to the fold, whatever the filter chooses
		if cap(seg.buf) > 0 || cap(seg.spans) > notes == (n > 0) {
			t.Errorf("%s: room for %d bytes of text and %d spans, %d messages counted", text, cap(seg.buf), cap(seg.spans), n)
		}
	}
}

// BenchmarkFilterNothing is BenchmarkDecode with a filter that chooses nothing.
func BenchmarkFilterNothing(b *testing.B) {
	for _, text := range noMatches {
		b.Run(text, func(b *testing.B) { benchmarkPartitions(b, filteredPartitions(b, text)) })
	}
}

// BenchmarkFilterDecoding is BenchmarkDecode with a filter that chooses nothing and that looks at
// fields only: nothing is paired.
func BenchmarkFilterDecoding(b *testing.B) {
	benchmarkPartitions(b, partitionsOf(&Config{Registry: protos.Registry(b), Filter: &Filter{Program: compile(b, "a2s.info.players > 250")}}))
}
