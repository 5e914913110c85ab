package diff

import (
	"math/bits"

	"qsniff/internal/base/lru"
)

// polynomial hashes bytes as the value of a polynomial at a secret place, modulo a prime. The hash of bytes that
// follow each other comes from the hashes of both, so that segments that were cut in another way are
// compared without their bytes. Two different texts of n bytes have the same hash by a chance of n in 2^61.
type polynomial struct{ place uint64 }

const prime = 1<<61 - 1

func newPolynomial(seed uint64) polynomial {
	const least = 1 << 20 // chosen: a small place leaves short texts in order
	return polynomial{least + lru.Mix(seed, least)%(prime-least)}
}

// multiply returns a*b modulo the prime, of values below it.
func multiply(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return reduce((lo & prime) + (lo>>61 | hi<<3))
}

func reduce(x uint64) uint64 {
	if x = x&prime + x>>61; x >= prime {
		x -= prime
	}
	return x
}

// sum returns the hash of b. Bytes count from 1, so that the length is part of it.
func (p polynomial) sum(b []byte) (h uint64) {
	for _, x := range b {
		h = reduce(multiply(h, p.place) + uint64(x) + 1)
	}
	return h
}

// join returns the hash of bytes whose first part has the hash a, and the second one, of n bytes, b.
func (p polynomial) join(a, b uint64, n int) uint64 {
	for power := p.place; n > 0; n >>= 1 {
		if n&1 != 0 {
			a = multiply(a, power)
		}
		power = multiply(power, power)
	}
	return reduce(a + b)
}
