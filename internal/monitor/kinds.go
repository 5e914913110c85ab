package monitor

import "qsniff/dissect"

// kinds numbers the kinds of messages: protocol, name and direction. Several types of one name
// are one kind.
type kinds struct {
	list   []kind // 0: parts of replies, whose kind no packet shows, and what has no place
	byType map[*dissect.Type]uint8
	last   *dissect.Type // of the packet before, and its kind
	lastOf uint8
}

// kind is a kind of messages.
type kind struct {
	protocol, message string
	reply             bool
	asks              dissect.Asked // of all types of the kind
}

// newKinds numbers what protocols declare.
func newKinds(protos []*dissect.Proto) kinds {
	k := kinds{list: []kind{{protocol: otherName, message: otherName, reply: true}}, byType: map[*dissect.Type]uint8{}}
	for _, p := range protos {
		for _, t := range p.Types {
			k.byType[t] = k.add(kind{p.Name, t.Name, t.FromServer(), t.Asks})
		}
	}
	return k
}

// add returns the number of a kind, a new one if it has none.
func (k *kinds) add(x kind) uint8 {
	for i := range k.list {
		y := &k.list[i]
		if y.protocol == x.protocol && y.message == x.message && y.reply == x.reply {
			y.asks |= x.asks
			return uint8(i)
		}
	}
	if len(k.list) == maxKinds {
		return 0
	}
	k.list = append(k.list, x)
	return uint8(len(k.list) - 1)
}

// of returns the kind of a message, 0 if the type is nil or has no place.
func (k *kinds) of(t *dissect.Type) uint8 {
	if t != k.last {
		k.last, k.lastOf = t, k.byType[t]
	}
	return k.lastOf
}
