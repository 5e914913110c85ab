package pipeline

import (
	"qsniff/dissect"
	"qsniff/netlayer"
	"qsniff/reassembly"
	"qsniff/reassembly/split"
	"qsniff/render"
	"qsniff/track"
)

// emit renders the message and states it as a fact.
func (p *partition) emit(s *source) {
	seg := p.seg
	var part track.Part
	if p.judged {
		part = p.place(s)
	}
	start := len(seg.buf)
	var hole render.Hole
	if p.render != nil {
		hole = p.rendered(s, &part)
	}
	x := span{index: p.index, part: p.number, message: s.record == "", key: firstFrame(s), start: start, end: len(seg.buf),
		nanos: s.nanos, hole: holeAt(&hole, start), width: int32(hole.Width), post: -1}
	if x.message {
		x.fact.Part = part
		p.state(s, &x)
		if s.tcp && p.sights != nil {
			p.login(s)
		}
	}
	if p.talks {
		p.turn(&x, turn{conn: s.stream, said: p.ev.Said, wanted: p.wants(s.frame, s.frames)})
	}
	seg.spans = append(seg.spans, x)
}

// rendered appends what the renderer makes of the message.
func (p *partition) rendered(s *source, part *track.Part) render.Hole {
	ev := &p.ev
	*ev = render.Event{Frame: s.frame, Frames: s.frames, Nanos: s.nanos, Start: p.start, File: -1, Iface: -1,
		Src: s.src, Dst: s.dst, TCP: s.tcp, Reply: s.reply, Msg: &p.msg, Why: s.why, Record: s.record, Cut: s.cut}
	ev.Exchange, ev.Train = exchangeOf(s, part), s.train()
	p.originate(ev, s.from)
	if s.set != nil {
		ev.Split = p.splitInfo(s.set)
	}
	ev.Ways = p.waysOf(s.ways)
	ev.Pieces = p.piecesOf(s.pieces)
	p.seg.buf = p.render.Append(p.seg.buf, ev)
	return ev.Hole
}

// state fills in what the fold learns of the message.
func (p *partition) state(s *source, x *span) {
	m := &p.msg
	server, client := s.dst, s.src
	if s.reply || m.Type != nil && m.Type.Notice {
		server, client = client, server
	}
	x.fact = track.Fact{Frame: s.frame, Nanos: s.nanos, Server: server, Client: client, Part: x.fact.Part,
		Age: s.nanos - p.shift, Key: m.Key, Secret: m.Secret, Refused: m.Refused,
		Proto: m.Proto, Type: m.Type, Status: m.Status, Reply: s.reply, TCP: s.tcp, Bytes: uint32(m.Wire)}
	if !p.judged {
		return
	}
	f, seg := &x.fact, p.seg
	f.Packets = uint32(max(len(s.frames), 1))
	f.Wire = f.Bytes + f.Packets*headers(s)
	f.Train = s.train()
	x.found[0] = int32(len(seg.found))
	for i := range m.Expert {
		seg.found = append(seg.found, track.Found{Code: m.Expert[i].Code, Severity: m.Expert[i].Severity})
	}
	x.found[1] = int32(len(seg.found))
	if s.reply && p.listened {
		p.post(x)
	}
}

// post notes what the server says of itself, by the roles of the fields.
func (p *partition) post(x *span) {
	m := &p.msg
	post := track.Post{Players: -1, Max: -1}
	says := false
	for i := range m.Fields {
		f := &m.Fields[i]
		if f.Def.Role == dissect.NoRole || f.Flags&dissect.Cut != 0 {
			continue
		}
		says = true
		switch f.Def.Role {
		case dissect.ServerName:
			post.Name.Set(m.Bytes(f))
		case dissect.MapName:
			post.Map.Set(m.Bytes(f))
		case dissect.PlayerCount:
			post.Players = number(m, f)
		case dissect.MaxPlayers:
			post.Max = number(m, f)
		}
	}
	if says {
		x.post = int32(len(p.seg.posts))
		p.seg.posts = append(p.seg.posts, post)
	}
}

// number is the value of a field that counts, which some protocols write in
// digits; -1 if it is none.
func number(m *dissect.Message, f *dissect.Field) int32 {
	const digits = 9 // fit
	if f.Def.Kind != dissect.Text {
		return int32(min(f.Num, 1<<31-1))
	}
	b := m.Bytes(f)
	if len(b) == 0 || len(b) > digits {
		return -1
	}
	n := int32(0)
	for _, c := range b {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int32(c-'0')
	}
	return n
}

// holeAt is what a span says of a hole in what starts at offset start.
func holeAt(h *render.Hole, start int) int32 {
	if !h.Open {
		return 0
	}
	return int32(h.At - start + 1)
}

// originate fills in where the message came from.
func (p *partition) originate(ev *render.Event, from *origin) {
	if from == nil {
		return
	}
	if p.many {
		ev.File = int(from.file)
	}
	if from.known {
		ev.Iface, ev.IfName = int(from.iface), from.name
	}
	ev.Comments = from.comments
}

func (p *partition) piecesOf(pieces []reassembly.Piece) []render.Piece {
	if len(pieces) < 2 {
		return nil
	}
	p.origin = p.origin[:0]
	for i := range pieces {
		p.origin = append(p.origin, render.Piece(pieces[i]))
	}
	return p.origin
}

func (p *partition) waysOf(ways []netlayer.Way) []render.Way {
	if len(ways) == 0 {
		return nil
	}
	p.via = p.via[:0]
	for i := range ways {
		w := &ways[i]
		p.via = append(p.via, render.Way{Kind: w.Kind.String(), ID: w.ID, Src: w.Src, Dst: w.Dst})
	}
	return p.via
}

func (p *partition) splitInfo(set *split.Set) *render.Split {
	p.info = render.Split{Engine: set.Engine, ID: set.ID, Total: set.Total, Received: set.Received,
		Size: int(set.Size), Compressed: set.Compressed}
	if set.Prefix > 0 {
		p.info.Declared, p.info.CRC = set.Declared, set.CRC
		p.info.Packed = len(set.Joined) - set.Prefix
	}
	return &p.info
}
