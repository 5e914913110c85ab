package jsonl

import "qsniff/internal/render"

// Exchanges writes a dialogue as a line like AppendDialogue, with the ids of its findings in place
// of its messages.
type Exchanges struct{ render.Headline }

// AppendDialogue appends a line.
func (x Exchanges) AppendDialogue(dst []byte, d *render.Dialogue) []byte {
	if !x.Shows(d) {
		return dst
	}
	dst = append(appendDialogueHead(dst, d), `,"findings":[`...)
	return append(x.AppendFindings(dst, d, ",", `"`), "]}\n"...)
}
