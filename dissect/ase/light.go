package ase

import (
	"bytes"

	"qsniff/dissect"
)

// The items after the map, by what kind of reply they are in.
var (
	lightItems = []*dissect.Def{&defMap, &defOnline, &defBuildType, &defBuildNumber, &defPingStatus,
		&defNetRoute, &defUptime, &defHTTPPort}
	xfireItems = []*dissect.Def{&defMap, &defOnline}
)

// readLight reads the body of EYE2, or of EYE3, which lacks port, serials and players.
func (r *reader) readLight(eye2 bool) {
	r.readText(&defGame)
	if eye2 {
		r.readPort()
	}
	r.readText(&defName)
	r.readText(&defGametype)
	if eye2 {
		r.readMapField(lightItems)
	} else {
		r.readMapField(xfireItems)
	}
	r.readText(&defVersion)
	r.U8(&defPassword)
	if eye2 {
		r.U8(&defSerials)
	}
	r.U8(&defPlayers)
	r.U8(&defMax)
	if eye2 {
		r.readNames()
	}
}

// readMapField reads the map and the items after it. They share one length byte and
// are divided by NULs; clients that do not know the items show the map alone,
// because their strings end at the first NUL.
func (r *reader) readMapField(known []*dissect.Def) {
	const empty = 1
	length := 0
	if b := r.Peek(1); len(b) == 1 {
		length = int(b[0])
	}
	if length <= empty || length > r.LeftOnWire() {
		r.readText(&defMap)
		return
	}
	r.U8(&defMapLength)
	end := r.Offset() + length - 1
	for _, d := range known {
		r.readItem(d, end)
	}
	if r.OK() && r.Offset() < end {
		r.Push(&defExtras, dissect.Undeclared)
		for r.OK() && r.Offset() < end {
			r.readItem(&defExtra, end)
		}
		r.Pop()
	}
}

// readItem reads one item of the map field, which ends at offset end. After the last
// one there is no NUL.
func (r *reader) readItem(d *dissect.Def, end int) {
	n := end - r.Offset()
	if !r.OK() || n <= 0 {
		return
	}
	if i := bytes.IndexByte(r.Peek(n), 0); i >= 0 {
		r.Span(d, 0, i, 1)
		return
	}
	r.Take(d, n)
}

// readNames reads the players to the end of the datagram. A length of 0, which no text
// can have, ends them too.
func (r *reader) readNames() {
	r.Push(&defNames, dissect.Undeclared)
	for i := 0; r.OK() && r.Left() > 0 && !r.isAtZero(); i++ {
		r.Push(&defNameGroup, i)
		r.readText(&defNick)
		r.Pop()
	}
	r.Pop()
	r.readEndOfPlayers(false)
}
