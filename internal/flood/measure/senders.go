package measure

import (
	"qsniff/internal/flood/sketch"
	"qsniff/internal/track"
)

// Senders counts the sources of some packets, and the busiest of them one by one.
type Senders struct {
	Packets  uint64
	distinct sketch.Distinct
	top      *Top
}

// NewSenders returns room for the n busiest.
func NewSenders(n int) *Senders { return &Senders{top: sketch.NewTop[track.Host, Activity](n)} }

// Add counts a packet of the source with that hash.
func (x *Senders) Add(k Key, s *track.Sighting, source uint64, now int32) {
	x.Packets++
	x.distinct.Add(source)
	if v := x.top.Add(&s.Src, source); v != nil {
		v.recordPacket(s.TTL, k.HashPort(s.SrcPort), now)
	}
}

// Reset forgets all of them.
func (x *Senders) Reset() {
	x.Packets = 0
	x.distinct.Reset()
	x.top.Reset()
}

// Count returns about how many there are.
func (x *Senders) Count() float64 { return x.distinct.Count() }

// Sketch returns what they are counted with.
func (x *Senders) Sketch() *sketch.Distinct { return &x.distinct }

// Busiest lists the busiest, busiest first. It returns list, with other elements.
func (x *Senders) Busiest(list []BusyHost) []BusyHost { return listBusiest(list, x.top) }
