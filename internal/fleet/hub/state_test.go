package hub

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// TestState: a state of several shards is read as it was written; of two that write, the second gets
// errLost, and leaves nothing of its own.
func TestState(t *testing.T) {
	w := newWorld(t)
	h := w.hub(w.dial(nil), nil)
	a, b := store{bucket: h.bucket, id: "a"}, store{bucket: h.bucket, id: "b"}
	noise := make([]byte, 3*shardSize)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	want := &state{Counts: 7, Events: 9, Campaigns: 2, Totals: Totals{Messages: 16}, Pending: []event{{ID: "x/1", Kind: "x", Data: []byte(`{"a":1}`)}}, Engine: noise}
	ctx := t.Context()
	if st, err := b.read(ctx); st != nil || err != nil {
		t.Fatalf("a state before the first: %v, %v", st, err)
	}
	if err := a.write(ctx, want); err != nil {
		t.Fatal(err)
	}
	if err := b.write(ctx, &state{Counts: 1}); !errors.Is(err, errLost) {
		t.Errorf("the second wrote, too: %v", err)
	}
	got, err := b.read(ctx)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("it was read as another one: %v", err)
	}
	if err := b.write(ctx, got); err != nil {
		t.Errorf("one that has read it cannot go on: %v", err)
	}
	if err := a.write(ctx, want); !errors.Is(err, errLost) {
		t.Errorf("the first writes over the second: %v", err)
	}
	if _, err := h.bucket.Put(ctx, shardKey("orphan", 0), noise[:10]); err != nil {
		t.Fatal(err)
	}
	if err := b.prune(ctx); err != nil {
		t.Fatal(err)
	}
	keys, err := h.bucket.Keys(ctx)
	for _, key := range keys {
		if key != keyHead && !strings.HasPrefix(key, shardKey(b.name, 0)[:len(keyShards)+len(b.name)]) {
			t.Errorf("%s is left of a state that is none any more", key)
		}
	}
	if err != nil || len(keys) < 4 {
		t.Errorf("keys: %q, %v", keys, err)
	}
}

// TestOtherVersion: a hub does not write over the state of a newer one.
func TestOtherVersion(t *testing.T) {
	w := newWorld(t)
	h := w.hub(w.dial(nil), nil)
	if _, err := h.bucket.Put(t.Context(), keyHead, []byte(`{"version":99}`)); err != nil {
		t.Fatal(err)
	}
	a := w.run(h)
	w.until("it says why it does nothing", func() bool { return a.Health() != nil })
	e, err := h.bucket.Get(t.Context(), keyHead)
	if err != nil || !bytes.Contains(e.Value(), []byte("99")) {
		t.Errorf("the state: %s, %v", e.Value(), err)
	}
}

// FuzzUnpack: what is no state is an error, and what is one survives.
func FuzzUnpack(f *testing.F) {
	packed, err := pack(&state{Counts: 7, Pending: []event{{ID: "x/1", Data: []byte("{}")}}, Engine: []byte("x")})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packed)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		st, err := unpack(data)
		if err != nil {
			return
		}
		again, err := pack(st)
		if err != nil {
			return // a number in it that JSON does not take twice
		}
		if back, err := unpack(again); err != nil || !reflect.DeepEqual(back, st) {
			t.Errorf("%+v became %+v: %v", st, back, err)
		}
	})
}

// TestNames: prefixes are words of subjects, and make names of streams.
func TestNames(t *testing.T) {
	if got, want := NamesOf("games.eu"), (Names{"GAMES_EU_COUNTS", "GAMES_EU_EVENTS", "GAMES_EU_CAMPAIGNS", "GAMES_EU_HUB"}); got != want {
		t.Errorf("got %+v", got)
	}
	for _, prefix := range []string{"", ".", "a.", ".a", "a b", "*", "a.>", "_hub", "$JS", "a..b"} {
		if CheckPrefix(prefix) == nil {
			t.Errorf("%q is a prefix", prefix)
		}
	}
}
