// Package lrutest checks the keys of tables: that they hash all of their members, and
// that nobody who does not know the seed can choose keys that collide.
package lrutest

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"unsafe"

	"qsniff/internal/base/lru"
)

const (
	// knownSeed is the seed that the attacker knows; tables have others.
	knownSeed = 0x7173_6e69_6666_0001
	// keys fill half of the slots, as in a full table.
	keys, slots = 512, 1024
	// window is how many slots in a row the attacker aims at.
	window = 8
)

// Check fails the test if a hash leaves out a member of K, or if keys that collide
// under one seed take more than twice as long under others as random keys do. It
// counts the steps of searches and measures no time.
func Check[K lru.Key](t *testing.T) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	var chosen, others []K
	for len(chosen) < keys {
		if k := randomKey[K](r); k.Hash(knownSeed)%slots < window {
			chosen = append(chosen, k)
		}
	}
	for range keys {
		others = append(others, randomKey[K](r))
	}
	name := reflect.TypeFor[K]()
	if got := countSteps(chosen, knownSeed); got < keys*keys/4 {
		t.Errorf("%v: keys under the seed that they are chosen for take\ngot  %d steps\nwant at least %d, else they prove nothing", name, got, keys*keys/4)
	}
	for seed := range uint64(8) {
		if got, most := countSteps(chosen, seed), 2*countSteps(others, seed); got > most {
			t.Errorf("%v: seed %d: chosen keys take\ngot  %d steps\nwant at most %d, twice those of random keys", name, seed, got, most)
		}
	}
	checkMembers[K](t)
}

// countSteps returns how many slots are read to insert the keys.
func countSteps[K lru.Key](ks []K, seed uint64) int {
	var used [slots]bool
	n := len(ks)
	for _, k := range ks {
		at := k.Hash(seed) % slots
		for ; used[at]; at = (at + 1) % slots {
			n++
		}
		used[at] = true
	}
	return n
}

// checkMembers fails the test if two keys that differ in one member only have one hash.
func checkMembers[K lru.Key](t *testing.T) {
	t.Helper()
	var k K
	i := 0
	eachMember(reflect.ValueOf(&k).Elem(), func(v reflect.Value) {
		before := k.Hash(knownSeed)
		was := reflect.ValueOf(v.Interface())
		if v.CanUint() {
			v.SetUint(1)
		} else {
			v.SetBool(true)
		}
		if k.Hash(knownSeed) == before {
			t.Errorf("%T: the hash leaves out number %d", k, i)
		}
		v.Set(was)
		i++
	})
}

// randomKey returns a random key.
func randomKey[K lru.Key](r *rand.Rand) (k K) {
	eachMember(reflect.ValueOf(&k).Elem(), func(v reflect.Value) {
		if v.CanUint() {
			v.SetUint(r.Uint64() & (1<<v.Type().Bits() - 1))
		} else {
			v.SetBool(r.IntN(2) > 0)
		}
	})
	return k
}

// eachMember calls fn with every number and boolean in v, unexported ones too.
func eachMember(v reflect.Value, fn func(reflect.Value)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			eachMember(v.Field(i), fn)
		}
	case reflect.Array:
		for i := range v.Len() {
			eachMember(v.Index(i), fn)
		}
	default:
		fn(reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem())
	}
}
