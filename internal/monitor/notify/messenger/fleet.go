package messenger

import (
	"cmp"
	"context"

	"qsniff/internal/fleet"
	"qsniff/internal/fleet/outbox"
	"qsniff/internal/monitor/notify"
)

// fleetPost has the messages to the hub of a fleet, and delivers them.
type fleetPost struct {
	name    string // as a sink
	brokers []outbox.Broker
	box     *outbox.Outbox
}

// fleetOptions returns those of an Outbox.
func fleetOptions(c *notify.Fleet, log func(string)) outbox.Options {
	return outbox.Options{URLs: c.URL, Sensor: c.Name, Prefix: c.Prefix, Creds: c.Creds, CA: c.CA, Spool: c.Spool,
		Size: cmp.Or(c.SpoolSize, outbox.DefaultSpool), Log: log}
}

// openFleet opens the Outbox of a configuration; with isCheck it only tries whether that would do.
func openFleet(c *notify.Fleet, isCheck bool, log func(string)) (*fleetPost, error) {
	p := &fleetPost{}
	var err error
	if p.brokers, err = outbox.ParseURLs(c.URL); err != nil {
		return nil, err
	}
	p.name = notify.FleetSink + p.brokers[0].Host
	o := fleetOptions(c, func(text string) { log(p.name + ": " + text) })
	if isCheck {
		err = outbox.Check(o)
	} else {
		p.box, err = outbox.Open(o)
	}
	return p, err
}

// put passes a message on.
func (p *fleetPost) put(m *notify.FleetMessage) {
	p.box.Put(&outbox.Message{Kind: fleet.Kind(m.Kind), ID: m.ID, Line: m.Line})
}

func (p *fleetPost) run(ctx context.Context) { p.box.Run(ctx) }

// sinkCounts returns the counts so far.
func (p *fleetPost) sinkCounts() notify.SinkCounts {
	c := p.box.Counts()
	return notify.SinkCounts{Name: p.name, QueueCounts: notify.QueueCounts{Waiting: c.Waiting, Lost: c.Dropped},
		Sent: c.Sent, Retried: c.Retried, Refused: c.Refused}
}
