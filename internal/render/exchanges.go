package render

import (
	"bytes"
	"slices"

	"qsniff/internal/base/hostset"
)

// Headline is the part that renderers share which write a dialogue as one line: the text of a
// turn is the ids of its findings. Dialogues of other servers than Ours are not written.
type Headline struct {
	Ours *hostset.Set // nil: all
}

// Append appends the ids of the findings in a message, each with a space before it, and a space
// if there are none: a message without text would be no turn.
func (Headline) Append(dst []byte, e *Event) []byte {
	if e.Record != "" { // joined from messages, which are turns
		return dst
	}
	if len(e.Msg.Expert) == 0 {
		return append(dst, ' ')
	}
	for i := range e.Msg.Expert {
		dst = append(append(dst, ' '), e.Msg.Expert[i].Code.ID...)
	}
	return dst
}

// AppendRecord appends the id of a finding.
func (Headline) AppendRecord(dst []byte, r *Record) []byte {
	return append(append(dst, ' '), r.Expert.Code.ID...)
}

// Shows reports whether a dialogue is a line: one that has messages or is a connection, of
// one of Ours.
func (h *Headline) Shows(d *Dialogue) bool {
	return (d.IsStream || d.Requests+d.Challenges+d.Replies > 0) && h.Ours.Has(d.Server)
}

// AppendFindings appends the ids of the findings in a dialogue, each once, with a separator
// between them and quote around each.
func (Headline) AppendFindings(dst []byte, d *Dialogue, separator, quote string) []byte {
	lo := len(dst)
	for i := range d.Turns {
		for id := range bytes.FieldsSeq(d.Turns[i].Text) {
			if isListed(dst[lo:], id, separator, quote) {
				continue
			}
			if len(dst) > lo {
				dst = append(dst, separator...)
			}
			dst = append(append(append(dst, quote...), id...), quote...)
		}
	}
	return dst
}

// isListed reports whether id is in a list that AppendFindings made.
func isListed(list, id []byte, separator, quote string) bool {
	for one := range bytes.SplitSeq(list, []byte(separator)) {
		if slices.Equal(bytes.Trim(one, quote), id) {
			return true
		}
	}
	return false
}
