package flood

import (
	"fmt"
	"math"
	"slices"
)

// Sentence is one fact about an incident, and the stretch of time that its numbers are of, in
// Unix nanoseconds. Both ends are 0 where it has no numbers.
type Sentence struct {
	Text     string
	From, To int64
}

// sentences are evidence in words.
type sentences []Sentence

// add adds a sentence whose numbers are of no stretch of time, or which has none.
func (s *sentences) add(format string, args ...any) { s.within(span{}).add(format, args...) }

// span is a stretch of time in Unix nanoseconds; the zero value is none.
type span struct{ from, to int64 }

// within returns a list that adds its sentences to s, with that stretch of time.
func (s *sentences) within(x span) timedSentences { return timedSentences{s, x} }

type timedSentences struct {
	list *sentences
	span span
}

func (t timedSentences) add(format string, args ...any) {
	*t.list = append(*t.list, Sentence{fmt.Sprintf(format, args...), t.span.from, t.span.to})
}

// groupBySpan puts sentences of the same stretch of time one after the other, in the order in
// which the first of each was added.
func (s sentences) groupBySpan() {
	var order []span
	for _, x := range s {
		if k := (span{x.From, x.To}); !slices.Contains(order, k) {
			order = append(order, k)
		}
	}
	slices.SortStableFunc(s, func(a, b Sentence) int {
		return slices.Index(order, span{a.From, a.To}) - slices.Index(order, span{b.From, b.To})
	})
}

// percent, count, times and bytesOf return numbers as sentences have them.
func percent(share float64) string {
	switch p := 100 * share; {
	case p > 0 && p < 0.1:
		return "under 0.1 %"
	case p > 0 && p < 1:
		return fmt.Sprintf("%.1f %%", p)
	case p > 99 && p < 100:
		return "99 %"
	default:
		return fmt.Sprintf("%.0f %%", p)
	}
}

func count(n float64) string {
	if n < 10 && n != math.Trunc(n) {
		return fmt.Sprintf("%.1f", n)
	}
	s := fmt.Sprintf("%.0f", n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func times(x float64) string {
	if x < 10 {
		return fmt.Sprintf("%.2fx", x)
	}
	return count(x) + "x"
}

func bytesOf(n uint64) string {
	switch {
	case n >= 10e6:
		return fmt.Sprintf("%.0f MB", float64(n)/1e6)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 10e3:
		return fmt.Sprintf("%.0f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d B", n)
}

// plural returns an estimated number with its noun: "one source", "about 12 sources".
func plural(what string, estimate float64) string {
	if estimate < 1.5 {
		return "one " + what
	}
	return "about " + count(math.Round(estimate)) + " " + what + "s"
}

// verb returns one for an estimated number of one, else many.
func verb(estimate float64, one, many string) string {
	if estimate < 1.5 {
		return one
	}
	return many
}
