package campaign

import (
	"qsniff/fleet"
	"qsniff/flood"
)

// Options are what an Engine is made of.
type Options struct {
	// Thresholds decide as they do at a single host; the zero value stands for flood.Defaults.
	Thresholds flood.Thresholds
	// Campaign is called with each event of a campaign, and Sensor when one falls silent or is heard
	// again. Both are called during Advance only. What they point to is valid during the call. They may be nil.
	Campaign func(c *Campaign)
	Sensor   func(s *Sensor)
}

// Engine finds campaigns in messages. It is not safe for concurrent use.
type Engine struct {
	options Options
}

// New returns an engine that knows nothing yet.
func New(o Options) *Engine { return &Engine{options: o} }

// Consume takes a message. broker is when the broker got it, sent when the sensor published it by the
// sensor's clock (0: unknown), in Unix nanoseconds. It reports whether the message is new. It closes no
// window and calls nobody: messages may come in any order until Advance.
func (e *Engine) Consume(m fleet.Message, broker, sent int64) (isNew bool) { return false }

// Advance says that the broker's time is at least so much, and that what it got before was consumed: with
// several streams that is the time of the one that is read least far. It closes windows, and emits events.
func (e *Engine) Advance(broker int64) {}

// Snapshot returns the whole state. Restored, it continues with the same events.
func (e *Engine) Snapshot() ([]byte, error) { return nil, nil }

// Restore replaces the state with what Snapshot returned. After an error the state is that of New.
func (e *Engine) Restore(data []byte) error { return nil }

// Open returns the campaigns that are not over, and Closed the last ones that are, newest first. They are
// valid until the next call of another method.
func (e *Engine) Open() []*Campaign { return nil }

// Closed is described at Open.
func (e *Engine) Closed() []*Campaign { return nil }

// Sensors returns what is known of the sensors, by name.
func (e *Engine) Sensors() []Sensor { return nil }

// Servers returns what is known of the servers of a sensor, by address.
func (e *Engine) Servers(sensor string) []Server { return nil }

// Windows returns the sums of the last windows, the newest last.
func (e *Engine) Windows() []Totals { return nil }

// Counters returns what was counted since the state began.
func (e *Engine) Counters() Counters { return Counters{} }
