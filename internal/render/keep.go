package render

import (
	"bytes"
	"slices"

	"qsniff/dissect"
)

// Clone returns a copy of an event that depends on nothing of it, without its Origin.
func (e *Event) Clone() *Event {
	c := *e
	c.Frames, c.Pieces, c.Ways = slices.Clone(e.Frames), slices.Clone(e.Pieces), slices.Clone(e.Ways)
	c.Comments = nil
	for _, text := range e.Comments {
		c.Comments = append(c.Comments, bytes.Clone(text))
	}
	if e.Split != nil {
		s := *e.Split
		c.Split = &s
	}
	c.Msg, c.Origin = new(dissect.Message), Origin{}
	e.Msg.Clone(c.Msg)
	return &c
}
