package hub

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"qsniff/internal/fleet/campaign"
	"qsniff/internal/monitor/notify"
)

// keyMarks begins the keys of marks: the hub that makes the mark of an event reports it.
const keyMarks = "told."

// tell publishes the events that are pending, and passes their Notes on to the messenger. The events are in
// the state already: if this hub dies in between, the next one goes on.
func (x *leader) tell(ctx context.Context) error {
	for i := range x.state.Pending {
		e := &x.state.Pending[i]
		if !e.IsPublished {
			if err := x.publish(ctx, e); err != nil {
				return err
			}
		}
		if e.wanted == nil {
			if err := x.passOn(ctx, e); err != nil {
				return err
			}
		}
	}
	x.settle()
	return nil
}

// publish puts an event into the stream, right after the last message that is known there. If there
// are others, one of them may be this one.
func (x *leader) publish(ctx context.Context, e *event) error {
	for {
		ack, err := x.js.PublishMsg(ctx, &nats.Msg{Subject: subjectOf(x.opt.Prefix, e.Kind), Data: e.Data},
			jetstream.WithMsgID(e.ID), jetstream.WithExpectLastSequence(x.state.Campaigns))
		if err == nil {
			x.state.Campaigns = max(x.state.Campaigns, ack.Sequence)
			e.IsPublished = true
			return nil
		}
		var api *jetstream.APIError
		if !errors.As(err, &api) || api.ErrorCode != jetstream.JSErrCodeStreamWrongLastSequence && api.ErrorCode != jetstream.JSErrCodeStreamWrongLastSequenceConstant {
			return fmt.Errorf("publishing an event: %w", err)
		}
		before := x.state.Campaigns
		if err := x.readPublished(ctx); err != nil {
			return err
		}
		if e.IsPublished {
			return nil
		}
		if x.state.Campaigns == before {
			return fmt.Errorf("publishing an event: %w", err)
		}
	}
}

// readPublished reads the events that were published since the last that is known, and notes which of
// the pending ones are among them.
func (x *leader) readPublished(ctx context.Context) error {
	r := &reader{stream: x.campaigns, next: x.state.Campaigns + 1}
	defer r.close()
	if _, err := r.look(ctx); err != nil {
		return err
	}
	for {
		m, err := r.peek(ctx)
		if err != nil {
			return err
		}
		if m == nil {
			x.state.Campaigns = r.next - 1
			return nil
		}
		for i := range x.state.Pending {
			if e := &x.state.Pending[i]; e.ID == m.id {
				e.IsPublished = true
			}
		}
		r.take()
	}
}

// passOn marks an event, and passes its Note on. An event that another hub has marked is uncertain: that hub
// ended before it was known to be delivered.
func (x *leader) passOn(ctx context.Context, e *event) error {
	e.wanted = map[string]uint64{}
	if x.opt.Messenger == nil {
		return nil
	}
	key := keyMarks + base64.RawURLEncoding.EncodeToString([]byte(e.ID))
	_, err := x.bucket.Create(ctx, key, []byte(x.id), jetstream.KeyTTL(markTime))
	switch {
	case errors.Is(err, jetstream.ErrKeyExists):
		if by, err := x.bucket.Get(ctx, key); err == nil && string(by.Value()) == x.id {
			return nil // by this hub, when it led before
		}
		x.state.Totals.Uncertain++
		x.dirty = true
		x.opt.Log.Warn("another hub ended while it told of an event, which may have been told or not", "event", e.ID)
		return nil
	case err != nil:
		e.wanted = nil
		return fmt.Errorf("marking an event: %w", err)
	}
	n, err := x.noteOf(e)
	if err != nil {
		return err
	}
	x.state.Totals.Told++
	e.wanted = x.told.put(x.opt.Messenger, n)
	return nil
}

// settle removes the events whose Notes are delivered, and the oldest beyond mostPending.
func (x *leader) settle() {
	before := len(x.state.Pending)
	var counted map[string]uint64
	if x.opt.Messenger != nil && before > 0 {
		counted = countsOf(x.opt.Messenger)
	}
	x.state.Pending = slices.DeleteFunc(x.state.Pending, func(e event) bool {
		return e.IsPublished && e.wanted != nil && isDelivered(e.wanted, counted)
	})
	for len(x.state.Pending) > mostPending && x.state.Pending[0].wanted != nil {
		x.state.Pending = slices.Delete(x.state.Pending, 0, 1)
		x.state.Totals.LetGo++
	}
	x.dirty = x.dirty || len(x.state.Pending) != before
}

// deliveries follow what sinks count.
type deliveries struct {
	expected map[string]uint64 // by the name of the sink: with all notes that were put
}

// countsOf returns how many notes each sink has done with, whatever became of them.
func countsOf(m Messenger) map[string]uint64 {
	_, sinks := m.Counts()
	done := map[string]uint64{}
	for i := range sinks {
		s := &sinks[i]
		done[s.Name] = s.Sent + s.Refused + s.Lost + s.Folded
	}
	return done
}

// put passes a note on, and returns what the sinks must have counted until all are done with it.
func (d *deliveries) put(m Messenger, n *notify.Note) map[string]uint64 {
	if d.expected == nil {
		d.expected = map[string]uint64{}
	}
	wanted := map[string]uint64{}
	for name, now := range countsOf(m) {
		d.expected[name] = max(d.expected[name], now) + 1
		wanted[name] = d.expected[name]
	}
	m.Put(n)
	return wanted
}

// isDelivered reports whether all sinks that are still there have counted so much.
func isDelivered(wanted, counted map[string]uint64) bool {
	for name, n := range wanted {
		if now, isThere := counted[name]; isThere && now < n {
			return false
		}
	}
	return true
}

// The kinds of events: the last words of the subjects under which hubs publish.
const (
	eventCampaign = "campaign"
	eventSensor   = "sensor" // one fell silent, or speaks again
)

// event is what a hub publishes, and makes a Note of.
type event struct {
	ID   string          `json:"id"` // that of the message
	Kind string          `json:"kind"`
	Data json.RawMessage `json:"data"` // with sealed networks, as it is published
	// IsPublished is set once it is known to be in the stream.
	IsPublished bool `json:"published,omitempty"`
	// wanted is what the sinks must have counted until it was delivered; nil: it is not passed on yet.
	wanted map[string]uint64
}

// addCampaign is called by the engine.
func (x *leader) addCampaign(c *campaign.Campaign) {
	x.add(eventCampaign, c.ID+"/"+strconv.FormatUint(c.Number, 10), struct {
		Kind string `json:"kind"`
		*campaign.Campaign
	}{eventCampaign, c})
}

// addSensor is called by the engine.
func (x *leader) addSensor(s *campaign.Sensor) {
	x.add(eventSensor, s.Name+"/"+s.Run+"/"+strconv.FormatUint(s.Number, 10), struct {
		Kind string `json:"kind"`
		*campaign.Sensor
	}{eventSensor, s})
}

// add appends an event to those that wait until their Notes are delivered.
func (x *leader) add(kind, id string, v any) {
	data, err := json.Marshal(v)
	if err != nil { // a figure that is none
		x.opt.Log.Error("an event cannot be encoded", "event", id, "why", err)
		return
	}
	x.state.Totals.Events++
	x.state.Pending = append(x.state.Pending, event{ID: kind + "/" + id, Kind: kind, Data: data})
	x.dirty = true
}
