package hub

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go/jetstream"
)

// The state is in several values: its shards, and the head, which names them and is replaced last, by
// its revision. A hub that dies before that leaves shards that no head names, and the state as it was.
// The state before the last one stays until the next is written, and what cannot be read is kept aside.
const (
	keyHead     = "state"
	keyPrevious = "state.previous" // the head before
	keyAside    = "state.aside."   // heads that could not be read
	keyShards   = "shard."
)

// stateVersion is that of the state. One of another version cannot be read.
const stateVersion = 1

// errUnreadable is the error of a state that is not what a hub of this version wrote.
var errUnreadable = errors.New("the state of the hub cannot be read")

// head is the value of keyHead.
type head struct {
	Version int    `json:"version"`
	Name    string `json:"name"` // begins the keys of the shards
	Shards  int    `json:"shards"`
	Sum     string `json:"sha256"` // of all of them together
	By      string `json:"by"`
}

// state is what a hub goes on from.
type state struct {
	Counts    uint64  `json:"counts"` // numbers of the last messages read
	Events    uint64  `json:"events"`
	Campaigns uint64  `json:"campaigns"` // of the last event that was seen
	Totals    Totals  `json:"totals"`
	Pending   []event `json:"pending"`
	Engine    []byte  `json:"engine"` // by campaign.Engine.Snapshot
}

// Totals count for as long as there is a state, whichever hub leads.
type Totals struct {
	Messages  uint64 `json:"messages"`  // that were read
	Refused   uint64 `json:"refused"`   // by Parse
	Lost      uint64 `json:"lost"`      // dropped by the streams before they were read
	Events    uint64 `json:"events"`    // of campaigns
	Told      uint64 `json:"told"`      // of these, those whose Notes were passed on to the messenger
	Uncertain uint64 `json:"uncertain"` // of which it cannot be determined whether they were
	LetGo     uint64 `json:"let_go"`    // told, and dropped from the list before they were known to be delivered
	Aside     uint64 `json:"aside"`     // states that could not be read, and were kept aside
}

// store reads and writes the state.
type store struct {
	bucket   jetstream.KeyValue
	id       string // of the hub
	revision uint64 // of the head that was read or written last; 0: there is none
	name     string // in it
	text     []byte // the head
	previous string // the name in the head before
	count    uint64 // of states that were written
}

// read returns the state, nil if there is none.
func (s *store) read(ctx context.Context) (*state, error) {
	e, err := s.bucket.Get(ctx, keyHead)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		s.revision, s.name, s.text = 0, "", nil
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s.revision, s.name, s.text = e.Revision(), "", nil
	return s.decode(ctx, e.Value())
}

// decode returns the state that a head names. It wraps errUnreadable if that is none.
func (s *store) decode(ctx context.Context, text []byte) (*state, error) {
	var h head
	if err := json.Unmarshal(text, &h); err != nil {
		return nil, fmt.Errorf("%w: its head: %w", errUnreadable, err)
	}
	switch {
	case h.Version != stateVersion:
		return nil, fmt.Errorf("%w: it is of version %d; this program has %d", errUnreadable, h.Version, stateVersion)
	case h.Shards < 0 || h.Shards > mostState/shardSize:
		return nil, fmt.Errorf("%w: its head names %d parts", errUnreadable, h.Shards)
	}
	var packed bytes.Buffer
	for i := range h.Shards {
		x, err := s.bucket.Get(ctx, shardKey(h.Name, i))
		if errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrInvalidKey) {
			return nil, fmt.Errorf("%w: part %d is missing", errUnreadable, i)
		}
		if err != nil {
			return nil, fmt.Errorf("part %d of the state: %w", i, err)
		}
		packed.Write(x.Value())
	}
	if sum := sha256.Sum256(packed.Bytes()); hex.EncodeToString(sum[:]) != h.Sum {
		return nil, fmt.Errorf("%w: its checksum is wrong", errUnreadable)
	}
	st, err := unpack(packed.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	s.name, s.text = h.Name, bytes.Clone(text)
	return st, nil
}

// recover returns the state to go on from: the last one; or, if that cannot be read or check finds it wrong, the
// one before, or nil. why is not nil then, and the head is kept aside. A broker that does not answer is an err.
func (s *store) recover(ctx context.Context, check func(*state) error) (st *state, why, err error) {
	checked := func(st *state, err error) (*state, error) {
		if err == nil && st != nil {
			if bad := check(st); bad != nil {
				err = fmt.Errorf("%w: %w", errUnreadable, bad)
			}
		}
		if err != nil {
			s.name, s.text, st = "", nil, nil
		}
		return st, err
	}
	before, err := s.bucket.Get(ctx, keyPrevious)
	if err != nil && !errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, nil, err
	}
	s.previous = ""
	if err == nil {
		s.previous = nameIn(before.Value())
	}
	st, why = checked(s.read(ctx))
	if why == nil || !errors.Is(why, errUnreadable) {
		return st, nil, why
	}
	e, err := s.bucket.Get(ctx, keyHead)
	if err == nil {
		_, err = s.bucket.Put(ctx, keyAside+strconv.FormatUint(e.Revision()%keptAside, 10), e.Value())
	}
	if err != nil || before == nil {
		return nil, why, err
	}
	if st, err = checked(s.decode(ctx, before.Value())); errors.Is(err, errUnreadable) {
		err = nil
	}
	return st, why, err
}

// nameIn returns the name in a head, empty if there is none.
func nameIn(text []byte) string {
	var h head
	if json.Unmarshal(text, &h) != nil {
		return ""
	}
	return h.Name
}

func shardKey(name string, i int) string { return keyShards + name + "." + strconv.Itoa(i) }

// write replaces the state. It returns errLost if another hub has done so since the last call.
func (s *store) write(ctx context.Context, st *state) error {
	packed, err := pack(st)
	if err != nil {
		return err
	}
	s.count++
	sum := sha256.Sum256(packed)
	h := head{Version: stateVersion, Name: s.id + "-" + strconv.FormatUint(s.revision, 10) + "-" + strconv.FormatUint(s.count, 10), Sum: hex.EncodeToString(sum[:]), By: s.id}
	for rest := packed; len(rest) > 0; h.Shards++ {
		part := rest[:min(len(rest), shardSize)]
		if _, err := s.bucket.Put(ctx, shardKey(h.Name, h.Shards), part); err != nil {
			return err
		}
		rest = rest[len(part):]
	}
	text, err := json.Marshal(&h)
	if err != nil {
		return err
	}
	var revision uint64
	if s.revision == 0 {
		revision, err = s.bucket.Create(ctx, keyHead, text)
	} else {
		revision, err = s.bucket.Update(ctx, keyHead, text, s.revision)
	}
	if isConflict(err) {
		s.drop(ctx, h.Name)
		return errLost
	}
	if err != nil {
		return err // it may have been written: the caller reads it again
	}
	if s.text != nil && s.name != s.previous {
		if _, err := s.bucket.Put(ctx, keyPrevious, s.text); err != nil {
			return err
		}
		s.drop(ctx, s.previous)
		s.previous = s.name
	}
	s.revision, s.name, s.text = revision, h.Name, text
	return nil
}

// drop removes the shards of a former state. If it fails, prune removes the rest.
func (s *store) drop(ctx context.Context, name string) {
	if name == "" {
		return
	}
	for i := 0; ; i++ {
		if _, err := s.bucket.Get(ctx, shardKey(name, i)); err != nil {
			return
		}
		if s.bucket.Purge(ctx, shardKey(name, i), jetstream.PurgeTTL(purgeTime)) != nil {
			return
		}
	}
}

// prune removes the shards that hubs left which died while they wrote. The hub that leads calls it.
func (s *store) prune(ctx context.Context) error {
	names := []string{s.name, s.previous}
	for i := range uint64(keptAside) {
		if e, err := s.bucket.Get(ctx, keyAside+strconv.FormatUint(i, 10)); err == nil {
			names = append(names, nameIn(e.Value()))
		}
	}
	isKept := func(key string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return name != "" && strings.HasPrefix(key, keyShards+name+".") })
	}
	keys, err := s.bucket.ListKeysFiltered(ctx, keyShards+">")
	if err != nil {
		return err
	}
	defer func() { _ = keys.Stop() }()
	for key := range keys.Keys() {
		if isKept(key) {
			continue
		}
		if err := s.bucket.Purge(ctx, key, jetstream.PurgeTTL(purgeTime)); err != nil {
			return err
		}
	}
	return nil
}

// pack encodes a state.
func pack(st *state) ([]byte, error) {
	text, err := json.Marshal(st)
	if err != nil {
		return nil, err
	}
	if len(text) > mostState {
		return nil, fmt.Errorf("the state has %d bytes, more than %d", len(text), mostState)
	}
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer w.Close()
	return w.EncodeAll(text, nil), nil
}

// unpack decodes what pack returned.
func unpack(packed []byte) (*state, error) {
	r, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(mostState), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	text, err := r.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("the state: %w", err)
	}
	st := new(state)
	if err := json.Unmarshal(text, st); err != nil {
		return nil, fmt.Errorf("the state: %w", err)
	}
	return st, nil
}
