package main

import (
	"qsniff/internal/pipeline"
	"qsniff/internal/render"
)

// frameSet is a set of frames, a bit for each packet of a capture. As the renderer of dialogues
// it prints nothing, and gets the frames that completed their messages.
type frameSet []uint64

func (s *frameSet) add(frame uint64) {
	for uint64(len(*s)) <= frame/64 {
		*s = append(*s, 0)
	}
	(*s)[frame/64] |= 1 << (frame % 64)
}

func (s frameSet) has(frame uint64) bool {
	return frame/64 < uint64(len(s)) && s[frame/64]>>(frame%64)&1 != 0
}

// Append implements render.Renderer: a turn without text would be dropped.
func (*frameSet) Append(dst []byte, _ *render.Event) []byte { return append(dst, '.') }

// AppendRecord implements render.Renderer.
func (*frameSet) AppendRecord(dst []byte, _ *render.Record) []byte { return dst }

// AppendDialogue implements render.DialogueRenderer.
func (s *frameSet) AppendDialogue(dst []byte, d *render.Dialogue) []byte {
	for i := range d.Turns {
		s.add(d.Turns[i].Frame)
	}
	return dst
}

// framesOnly is a PacketSink that gets only messages which frames of a set completed.
type framesOnly struct {
	pipeline.PacketSink
	frames frameSet
}

// AddMessage implements pipeline.PacketSink.
func (o framesOnly) AddMessage(p *pipeline.Pick) {
	p.IsChosen = p.IsChosen && o.frames.has(p.Frame)
	o.PacketSink.AddMessage(p)
}
