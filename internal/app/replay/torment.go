package replay

import "math/rand/v2"

// Torment is what is done to datagrams on their way to a client, as bad networks do.
type Torment struct {
	Loss     float64 // how likely a datagram is lost, 0 to 1
	Reorder  bool    // the datagrams of a reply arrive in another order
	Truncate int     // datagrams are cut to so many bytes; 0: not
}

// Apply returns what arrives of datagrams. The result is the same for the same state of rng.
func (t *Torment) Apply(rng *rand.Rand, datagrams [][]byte) [][]byte {
	out := make([][]byte, 0, len(datagrams))
	for _, b := range datagrams {
		if t.Loss > 0 && rng.Float64() < t.Loss {
			continue
		}
		if t.Truncate > 0 && len(b) > t.Truncate {
			b = b[:t.Truncate]
		}
		out = append(out, b)
	}
	if t.Reorder && len(out) > 1 {
		by := 1 + rng.IntN(len(out)-1) // never as they were
		out = append(out[by:len(out):len(out)], out[:by]...)
	}
	return out
}
