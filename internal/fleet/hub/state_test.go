package hub

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"reflect"
	"strconv"
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
		if key != keyHead && key != keyPrevious && !strings.HasPrefix(key, keyShards+b.name+".") && !strings.HasPrefix(key, keyShards+b.previous+".") {
			t.Errorf("%s is left of a state that is none any more", key)
		}
	}
	if err != nil || len(keys) < 4 {
		t.Errorf("keys: %q, %v", keys, err)
	}
}

// TestUnreadableState: whatever is stored, a hub starts: what it cannot read is kept aside and counted, and it goes on
// from the state before, or from none.
func TestUnreadableState(t *testing.T) {
	put := func(key, text string) func(*testing.T, *Hub, head) {
		return func(t *testing.T, h *Hub, _ head) {
			if _, err := h.bucket.PutString(t.Context(), key, text); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, spoil := range map[string]func(*testing.T, *Hub, head){
		"no JSON":            put(keyHead, `{"stream":"QSNIFF_COUNTS","seq"`),
		"an ack":             put(keyHead, `{"stream":"QSNIFF_COUNTS","seq":1}`),
		"of another version": put(keyHead, `{"version":99,"name":"x","shards":1}`),
		"many parts":         put(keyHead, `{"version":1,"name":"x","shards":9000000000000000000}`),
		"an odd name":        put(keyHead, `{"version":1,"name":"> *","shards":1}`),
		"a part is missing": func(t *testing.T, h *Hub, x head) {
			if err := h.bucket.Delete(t.Context(), shardKey(x.Name, 0)); err != nil {
				t.Fatal(err)
			}
		},
		"a part is another": func(t *testing.T, h *Hub, x head) { put(shardKey(x.Name, 0), "other bytes")(t, h, x) },
		"no engine's": func(t *testing.T, h *Hub, _ head) {
			s := store{bucket: h.bucket, id: "x"}
			st, err := s.read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			st.Engine = []byte(`{"version":1,"closed":-9}`)
			if err := s.write(t.Context(), st); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			h := w.hub(w.dial(nil), nil)
			s := store{bucket: h.bucket, id: "before"}
			for n := range uint64(2) {
				if err := s.write(t.Context(), &state{Totals: Totals{Messages: 7 + n}}); err != nil {
					t.Fatal(err)
				}
			}
			var x head
			if e, err := h.bucket.Get(t.Context(), keyHead); err != nil || json.Unmarshal(e.Value(), &x) != nil {
				t.Fatal(err)
			}
			spoil(t, h, x)
			bad, err := h.bucket.Get(t.Context(), keyHead)
			if err != nil {
				t.Fatal(err)
			}
			a := w.run(h)
			w.until("it works", func() bool { return a.IsReady() && a.Health() == nil && a.View().Totals.Aside == 1 })
			if n := a.View().Totals.Messages; n != 7 && (name != "no engine's" || n != 8) {
				t.Errorf("it goes on from a state with %d messages", n)
			}
			isAside := false
			for i := range keptAside {
				e, err := h.bucket.Get(t.Context(), keyAside+strconv.Itoa(i))
				isAside = isAside || err == nil && bytes.Equal(e.Value(), bad.Value())
			}
			if !isAside {
				t.Error("it was not kept aside")
			}
		})
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
