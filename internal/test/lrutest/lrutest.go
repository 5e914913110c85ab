// Package lrutest checks the keys of tables: that they hash all of their members, and
// that nobody who does not know the seed can choose keys that collide.
package lrutest

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"unsafe"

	"qsniff/internal/lru"
)

const (
	// known is the seed that the attacker knows; tables have others.
	known = 0x7173_6e69_6666_0001
	// keys are so many that they fill half of the slots.
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
		if k := random[K](r); k.Hash(known)%slots < window {
			chosen = append(chosen, k)
		}
	}
	for range keys {
		others = append(others, random[K](r))
	}
	name := reflect.TypeFor[K]()
	if got := steps(chosen, known); got < keys*keys/4 {
		t.Errorf("%v: keys under the seed that they are chosen for take\ngot  %d steps\nwant at least %d, else they prove nothing", name, got, keys*keys/4)
	}
	for seed := range uint64(8) {
		if got, most := steps(chosen, seed), 2*steps(others, seed); got > most {
			t.Errorf("%v: seed %d: chosen keys take\ngot  %d steps\nwant at most %d, twice those of random keys", name, seed, got, most)
		}
	}
	members[K](t)
}

// steps is how many slots are looked at to put in the keys.
func steps[K lru.Key](ks []K, seed uint64) int {
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

// members fails the test if two keys that differ in one number only have one hash.
func members[K lru.Key](t *testing.T) {
	t.Helper()
	var k K
	i := 0
	each(reflect.ValueOf(&k).Elem(), func(v reflect.Value) {
		before := k.Hash(known)
		was := reflect.ValueOf(v.Interface())
		if v.CanUint() {
			v.SetUint(1)
		} else {
			v.SetBool(true)
		}
		if k.Hash(known) == before {
			t.Errorf("%T: the hash leaves out number %d", k, i)
		}
		v.Set(was)
		i++
	})
}

// random returns a random key.
func random[K lru.Key](r *rand.Rand) (k K) {
	each(reflect.ValueOf(&k).Elem(), func(v reflect.Value) {
		if v.CanUint() {
			v.SetUint(r.Uint64() & (1<<v.Type().Bits() - 1))
		} else {
			v.SetBool(r.IntN(2) > 0)
		}
	})
	return k
}

// each calls fn with every number and truth value in v, unexported ones too.
func each(v reflect.Value, fn func(reflect.Value)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			each(v.Field(i), fn)
		}
	case reflect.Array:
		for i := range v.Len() {
			each(v.Index(i), fn)
		}
	default:
		fn(reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem())
	}
}
