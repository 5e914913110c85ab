package hub

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"qsniff/internal/fleet"
	"qsniff/internal/fleet/campaign"
)

// leader is the hub that leads, for as long as it does.
type leader struct {
	*Hub
	me     Holder
	state  *state
	engine *campaign.Engine
	counts *reader
	events *reader
	wrote  time.Time // the state
	shown  time.Time // to readers
	dirty  bool      // events were added or delivered: the state is to be written
	clock  stepper
	before int64 // the broker's time of the round before, moved by the step since; 0: there is none
	now    int64 // of this round
	isStep bool  // the broker's clock was set since then
	size   int64 // bytes that counts may have now
	sized  time.Time
}

// lead goes on from the state until asked ends, or something fails; ctx bounds how long that takes.
func (h *Hub) lead(ctx, asked context.Context, me Holder) error {
	x := &leader{Hub: h, me: me}
	if err := x.begin(ctx); err != nil {
		return err
	}
	defer x.counts.close()
	defer x.events.close()
	for {
		isMore, err := x.round(ctx)
		if err != nil {
			return errors.Join(context.Cause(ctx), err)
		}
		h.fail(nil)
		if isMore && asked.Err() == nil {
			continue
		}
		h.caught.Store(true)
		x.show(ctx)
		rest(asked, h.pace.round)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case asked.Err() != nil:
			return x.end()
		}
	}
}

// begin reads the state, and finishes what the hub before had begun.
func (x *leader) begin(ctx context.Context) error {
	x.engine = campaign.New(campaign.Options{Thresholds: x.opt.Thresholds, Campaign: x.addCampaign, Sensor: x.addSensor})
	st, why, err := x.store.recover(ctx, func(st *state) error {
		if len(st.Engine) == 0 {
			return nil
		}
		return x.engine.Restore(st.Engine)
	})
	if err != nil {
		return err
	}
	if st == nil {
		st = &state{}
		if why != nil {
			// A hub that begins anew does not tell again what is in the streams.
			if st, err = x.stateAtEnd(ctx); err != nil {
				return err
			}
		}
	}
	if why != nil {
		st.Totals.Aside++
		x.opt.Log.Error("the state is kept aside, and the hub goes on from an older one or from none", "why", why)
	}
	x.state = st
	x.counts = &reader{stream: x.Hub.counts, next: st.Counts + 1}
	x.events = &reader{stream: x.Hub.events, next: st.Events + 1}
	if err := x.store.prune(ctx); err != nil {
		return err
	}
	// The state is written at once: from now on what the hub before might still write fails.
	if err := x.write(ctx); err != nil {
		return err
	}
	return x.tell(ctx)
}

// stateAtEnd returns a state after all that is in the streams.
func (x *leader) stateAtEnd(ctx context.Context) (*state, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	st := &state{}
	for _, s := range []struct {
		stream jetstream.Stream
		last   *uint64
	}{{x.Hub.counts, &st.Counts}, {x.Hub.events, &st.Events}, {x.campaigns, &st.Campaigns}} {
		info, err := s.stream.Info(ctx)
		if err != nil {
			return nil, err
		}
		*s.last = info.State.LastSeq
	}
	return st, nil
}

// round reads what came, and reports the events that follow from it. isMore is set if there is more to read.
func (x *leader) round(ctx context.Context) (isMore bool, err error) {
	readers := []*reader{x.counts, x.events}
	now := int64(0)
	for _, r := range readers {
		at, err := r.look(ctx)
		if err != nil {
			return false, err
		}
		if now == 0 || at < now {
			now = at
		}
	}
	if x.opt.Now != nil {
		now = x.opt.Now(now)
	}
	x.followClock(now)
	last := int64(0)
	n, err := merge(ctx, roundMessages, readers, func(m *received) {
		last = m.time
		x.consume(m)
	})
	x.state.Totals.Lost += x.counts.lost + x.events.lost
	x.counts.lost, x.events.lost = 0, 0
	if err != nil {
		return false, err
	}
	isMore = n == roundMessages
	if isMore {
		if now = last; x.opt.Now != nil {
			now = x.opt.Now(now)
		}
	}
	x.engine.Advance(now)
	x.settle()
	x.measureRoom()
	isFull := x.counts.isFull(x.size) || x.events.isFull(eventsSize(x.size))
	if x.dirty || isFull || time.Since(x.wrote) >= stateEvery {
		if err := x.write(ctx); err != nil {
			return false, err
		}
	}
	if isFull {
		if err := x.trim(ctx); err != nil {
			return false, err
		}
	}
	return isMore, x.tell(ctx)
}

// measureRoom updates how large the streams may be.
func (x *leader) measureRoom() {
	if x.size != 0 && time.Since(x.sized) < streamsEvery {
		return
	}
	x.size, x.sized = x.opt.Retention.Size, time.Now()
	if room := x.opt.Retention.Room; room != nil {
		x.size = min(x.size, max(room(), leastSize))
	}
}

// trim makes room in the streams. It removes only messages that the written state holds: a hub that leads after this
// one begins there, and counts what is gone by then as lost.
func (x *leader) trim(ctx context.Context) error {
	if err := x.counts.trim(ctx, x.size, x.state.Counts); err != nil {
		return err
	}
	return x.events.trim(ctx, eventsSize(x.size), x.state.Events)
}

// consume passes a message to the engine.
func (x *leader) consume(r *received) {
	x.state.Totals.Messages++
	sensor, kind, err := fleet.ParseSubject(x.opt.Prefix, r.subject)
	if err != nil {
		x.refuse("", fleet.BadSubject)
		return
	}
	m, err := fleet.Parse(sensor, kind, r.data)
	if err != nil {
		x.refuse(sensor, fleet.ReasonOf(err))
		return
	}
	broker, sent := r.time, r.sent
	if x.opt.Times != nil {
		broker, sent = x.opt.Times(m, broker, sent)
	}
	if x.isStep { // it may have come before the clock was set
		broker = min(max(broker, x.before), x.now)
	}
	x.engine.Consume(m, broker, sent)
}

// followClock has the engine follow the broker's clock where that was set since the round before.
func (x *leader) followClock(now int64) {
	x.isStep = false
	if x.opt.Monotonic != nil {
		if by := x.clock.step(now, x.opt.Monotonic()); by != 0 {
			x.opt.Log.Warn("the clock of the broker was set", "by", time.Duration(by))
			x.engine.Step(by)
			x.isStep, x.before = true, x.before+by
		}
	}
	if !x.isStep {
		x.before = x.now
	}
	x.now = now
}

// stepper finds out when a clock is set, by one that is not.
type stepper struct {
	last, at int64 // the clock's time, and that of the other one then
	hasBegun bool
}

// step returns by how much the clock was set since the last call, 0 for less than clockStep.
func (s *stepper) step(now, at int64) int64 {
	by := (now - s.last) - (at - s.at)
	isFirst := !s.hasBegun
	s.last, s.at, s.hasBegun = now, at, true
	if isFirst || by < int64(clockStep) && by > -int64(clockStep) {
		return 0
	}
	return by
}

func (x *leader) refuse(sensor string, why fleet.Reason) {
	x.state.Totals.Refused++
	x.refused.add(sensor, why)
}

// write writes the state.
func (x *leader) write(ctx context.Context) error {
	snapshot, err := x.engine.Snapshot()
	if err != nil {
		return err
	}
	st := x.state
	st.Counts, st.Events, st.Engine = x.counts.next-1, x.events.next-1, snapshot
	if err := x.store.write(ctx, st); err != nil {
		return err
	}
	st.Engine = nil
	x.wrote, x.dirty = time.Now(), false
	return nil
}

// end writes the state for the hub that follows, once what was passed on is known to be delivered, if
// that does not take long.
func (x *leader) end() error {
	ctx, cancel := context.WithTimeout(context.Background(), requestTime)
	defer cancel()
	for end := time.Now().Add(settleWait); ; rest(ctx, settleStep) {
		x.settle()
		if len(x.state.Pending) == 0 || time.Now().After(end) || x.opt.Conn.IsClosed() {
			return x.write(ctx)
		}
	}
}
