package jsonl

import (
	"time"

	"qsniff/dissect"
	"qsniff/internal/base/jsonw"
	"qsniff/internal/render"
)

// memory holds what messages have in common with those before them, as text: many have
// their second, and all of a type have how their lines go on after the ends. Ends are not
// in it: a table of them that is large enough to help costs more than it saves, in misses
// of the processor's cache.
type memory struct {
	heads []line // those that came last are first
	sec   int64  // since 1970
	clock []byte // of sec: "2023-11-14T22:13:20.
}

// Copy returns a renderer of the same lines, for one goroutine. It remembers what it wrote.
func (r *Renderer) Copy() render.Renderer {
	return &Renderer{opt: r.opt, mem: new(memory)}
}

// appendTime appends the time of a message.
func (r *Renderer) appendTime(dst []byte, nanos int64) []byte {
	m := r.mem
	if m == nil || nanos < 0 {
		return jsonw.Time(dst, nanos)
	}
	sec, rest := nanos/int64(time.Second), nanos%int64(time.Second)
	if m.sec != sec || len(m.clock) == 0 {
		whole := jsonw.Time(m.clock[:0], sec*int64(time.Second))
		m.sec, m.clock = sec, whole[:len(whole)-len(`000000Z"`)]
	}
	return jsonw.Fraction(append(dst, m.clock...), rest)
}

// head is what decides how a line goes on after the ends.
type head struct {
	proto   *dissect.Proto
	typ     *dissect.Type
	isReply bool
	conf    dissect.Confidence
	status  dissect.Status
}

// line is how a line goes on.
type line struct {
	head
	text string
}

// appendHead appends the protocol, the type, the direction and the status, and the key of
// the length.
func (r *Renderer) appendHead(dst []byte, e *render.Event) []byte {
	m := e.Msg
	if r.mem == nil || e.Record != "" {
		return makeHead(dst, e)
	}
	h := head{m.Proto, m.Type, e.Reply, m.Conf, m.Status}
	return append(dst, r.mem.find(&h, e)...)
}

// find returns how lines with a head go on, of which e is one, and moves it one place forward: a
// dozen heads are most of a capture, and the first ones are found sooner than by a hash.
func (m *memory) find(h *head, e *render.Event) string {
	for i := range m.heads {
		if m.heads[i].head != *h {
			continue
		}
		if i > 0 {
			m.heads[i], m.heads[i-1] = m.heads[i-1], m.heads[i]
			i--
		}
		return m.heads[i].text
	}
	m.heads = append(m.heads, line{*h, string(makeHead(nil, e))})
	return m.heads[len(m.heads)-1].text
}

func makeHead(dst []byte, e *render.Event) []byte {
	m := e.Msg
	dst = append(dst, `,"protocol":"`...)
	dst = append(dst, m.Proto.Name...)
	dst = appendType(dst, e)
	if m.Conf == dissect.Maybe {
		dst = append(dst, `,"weak":true`...)
	}
	dst = append(dst, `,"status":"`...)
	dst = append(dst, m.Status.String()...)
	return append(dst, `","length":`...)
}
