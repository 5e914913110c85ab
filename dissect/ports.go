package dissect

import (
	"fmt"
	"slices"
)

// maxProtos is how many protocols a registry holds over either transport: as many as
// a set has bits.
const maxProtos = 64

// protoSet is a set of protocols, by their index in the registry.
type protoSet uint64

// has reports whether protocol i is in the set.
func (s protoSet) has(i int) bool { return s&(1<<i) != 0 }

// portTable holds the protocols that are usually met at each port. Few ports have
// any, and most of those have the same: a port has the number of its set.
type portTable struct {
	number [1 << 16]uint8
	sets   []protoSet // 0 is the empty one
}

func newPortTable() portTable { return portTable{sets: []protoSet{0}} }

// add adds protocol i to the sets of ports.
func (t *portTable) add(i int, ports []uint16) error {
	for _, port := range ports {
		s := t.sets[t.number[port]] | 1<<i
		n := slices.Index(t.sets, s)
		if n < 0 {
			n = len(t.sets)
			t.sets = append(t.sets, s)
		}
		if n > 255 {
			return fmt.Errorf("port %d: protocols share ports in more than 255 ways", port)
		}
		t.number[port] = uint8(n)
	}
	return nil
}

// at returns the protocols that are usually met at a port.
func (t *portTable) at(port uint16) protoSet { return t.sets[t.number[port]] }
