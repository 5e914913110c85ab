package jsonl

import (
	"strconv"

	"qsniff/internal/base/jsonw"
	"qsniff/internal/render"
)

// AppendRecord appends a finding as a line of its own.
func (r *Renderer) AppendRecord(dst []byte, x *render.Record) []byte {
	dst = append(dst, opening...)
	dst = append(dst, `,"record":"finding","id":"`...)
	dst = append(dst, x.Expert.Code.ID...)
	dst = append(dst, `","severity":"`...)
	dst = append(dst, x.Expert.Severity.String()...)
	dst = append(dst, `","fault":"`...)
	dst = append(dst, x.Expert.Code.Fault.String()...)
	dst = append(dst, '"')
	if !r.opt.Bare {
		dst = jsonw.Time(append(dst, `,"time":`...), x.Nanos)
	}
	dst = appendFrames(append(dst, `,"frames":[`...), x.Frames)
	dst = r.appendEnds(dst, x)
	dst = append(dst, `,"text":`...)
	detail := x.Detail
	if r.opt.Bare { // it names the ends
		detail = nil
	}
	dst = appendText(dst, x.Expert, detail)
	return append(dst, `,"count":1}`+"\n"...)
}

// appendEnds appends the server and the client that the finding is about, if any.
func (r *Renderer) appendEnds(dst []byte, x *render.Record) []byte {
	if r.opt.Bare {
		return dst
	}
	if x.Server.IsValid() {
		dst = x.Server.AppendTo(append(dst, `,"server":"`...))
		dst = append(dst, '"')
	}
	if x.Client.IsValid() {
		dst = x.Client.AppendTo(append(dst, `,"client":"`...))
		dst = append(dst, '"')
	}
	return dst
}

// appendWays appends the tags, labels and tunnels around the packet.
func appendWays(dst []byte, ways []render.Way) []byte {
	if len(ways) == 0 {
		return dst
	}
	dst = append(dst, `,"via":[`...)
	for i := range ways {
		w := &ways[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"kind":"`...)
		dst = append(dst, w.Kind...)
		dst = append(dst, '"')
		if w.ID != 0 {
			dst = strconv.AppendUint(append(dst, `,"id":`...), uint64(w.ID), 10)
		}
		if w.Src.IsValid() {
			dst = appendEnd(append(dst, `,"src":"`...), w.Src)
			dst = appendEnd(append(dst, `","dst":"`...), w.Dst)
			dst = append(dst, '"')
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

func appendComments(dst []byte, comments [][]byte) []byte {
	if len(comments) == 0 {
		return dst
	}
	dst = append(dst, `,"comments":[`...)
	for i, c := range comments {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst, _ = jsonw.String(dst, c)
	}
	return append(dst, ']')
}
