package export

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/parquet-go/parquet-go"

	"qsniff/internal/fleet"
	"qsniff/internal/fleet/campaign"
	"qsniff/internal/fleet/hub"
)

// KindCampaign is the kind of what hubs publish about campaigns, besides fleet.Kinds.
const KindCampaign fleet.Kind = "campaign"

// Kinds lists what can be exported.
func Kinds() []string {
	all := []string{string(KindCampaign)}
	for _, k := range fleet.Kinds {
		all = append(all, string(k))
	}
	slices.Sort(all)
	return all
}

// Forms are the forms of output.
var Forms = []string{"jsonl", "parquet"}

// Options are what is exported.
type Options struct {
	Prefix string
	Kind   fleet.Kind
	Form   string
	// Since and Until bound when the broker got it; zero: no bound.
	Since, Until time.Time
	Secret       *fleet.Secret // opens networks; nil: they stay sealed
}

// Counts are what a run came to.
type Counts struct{ Rows, Refused uint64 }

// rowsAtOnce is how many rows of Parquet are together. Chosen: 50 MB of servers before they are packed.
const rowsAtOnce = 50_000

// Write writes the messages of a kind to w, in the order in which the broker got them, up to the last
// that is there when it begins.
func Write(ctx context.Context, js jetstream.JetStream, w io.Writer, o Options) (Counts, error) {
	x := &run{options: o, mk: maker{o.Secret}}
	switch o.Kind {
	case fleet.KindServer:
		return write(ctx, js, w, x, ofMessage(x, x.mk.server))
	case fleet.KindHost:
		return write(ctx, js, w, x, ofMessage(x, x.mk.host))
	case fleet.KindIncident:
		return write(ctx, js, w, x, ofMessage(x, x.mk.incident))
	case fleet.KindFinding:
		return write(ctx, js, w, x, ofMessage(x, x.mk.finding))
	case fleet.KindInventory:
		return write(ctx, js, w, x, ofMessage(x, x.mk.inventory))
	case KindCampaign:
		return write(ctx, js, w, x, func(m jetstream.Msg, at int64) (CampaignRow, error) {
			c := new(campaign.Campaign)
			err := json.Unmarshal(m.Data(), c)
			return x.mk.campaign(c, at), err
		})
	}
	return Counts{}, fmt.Errorf("%q is no kind of message", o.Kind)
}

// run is one call of Write.
type run struct {
	options Options
	mk      maker
	counts  Counts
}

// ofMessage returns what makes a row of a sensor's message.
func ofMessage[M fleet.Message, R any](x *run, row func(M, int64) R) func(jetstream.Msg, int64) (R, error) {
	return func(m jetstream.Msg, at int64) (r R, err error) {
		sensor, kind, err := fleet.ParseSubject(x.options.Prefix, m.Subject())
		if err != nil {
			return r, err
		}
		parsed, err := fleet.Parse(sensor, kind, m.Data())
		if err != nil {
			return r, err
		}
		return row(parsed.(M), at), nil
	}
}

// write writes all rows in a form.
func write[R any](ctx context.Context, js jetstream.JetStream, w io.Writer, x *run, row func(jetstream.Msg, int64) (R, error)) (Counts, error) {
	if x.options.Form == "parquet" {
		p := parquet.NewGenericWriter[R](w, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(rowsAtOnce))
		err := x.read(ctx, js, func(m jetstream.Msg, at int64) error {
			r, err := row(m, at)
			if err != nil {
				x.counts.Refused++
				return nil
			}
			x.counts.Rows++
			_, err = p.Write([]R{r})
			return err
		})
		if err != nil {
			return x.counts, err
		}
		return x.counts, p.Close()
	}
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	return x.counts, x.read(ctx, js, func(m jetstream.Msg, at int64) error {
		r, err := row(m, at)
		if err != nil {
			x.counts.Refused++
			return nil
		}
		x.counts.Rows++
		return lines.Encode(r)
	})
}

// requestTime is how long the broker may take to answer, messageWait how long a message may take that
// it lists.
const (
	requestTime = 5 * time.Second
	messageWait = 10 * time.Second
)

// read passes on the messages, with the broker's time.
func (x *run) read(ctx context.Context, js jetstream.JetStream, pass func(jetstream.Msg, int64) error) error {
	names := hub.NamesOf(x.options.Prefix)
	name, subject := names.StreamOf(x.options.Kind), fleet.Subject(x.options.Prefix, "*", x.options.Kind)
	if x.options.Kind == KindCampaign {
		name, subject = names.Campaigns, fleet.Subject(x.options.Prefix, fleet.HubName, KindCampaign)
	}
	asking, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	stream, err := js.Stream(asking, name)
	if err != nil {
		return fmt.Errorf("the stream %s: %w", name, err)
	}
	config := jetstream.OrderedConsumerConfig{FilterSubjects: []string{subject}, DeliverPolicy: jetstream.DeliverAllPolicy}
	if !x.options.Since.IsZero() {
		config.DeliverPolicy, config.OptStartTime = jetstream.DeliverByStartTimePolicy, &x.options.Since
	}
	c, err := stream.OrderedConsumer(asking, config)
	if err != nil {
		return err
	}
	info, err := c.Info(asking)
	if err != nil || info.NumPending == 0 {
		return err
	}
	it, err := c.Messages()
	if err != nil {
		return err
	}
	defer it.Stop()
	last := stream.CachedInfo().State.LastSeq
	for {
		m, err := next(ctx, it)
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		isAfter := meta.Sequence.Stream > last || !x.options.Until.IsZero() && !meta.Timestamp.Before(x.options.Until)
		if isAfter {
			return nil
		}
		if err := pass(m, meta.Timestamp.UnixNano()); err != nil {
			return err
		}
		if meta.NumPending == 0 || meta.Sequence.Stream == last {
			return nil
		}
	}
}

func next(ctx context.Context, it jetstream.MessagesContext) (jetstream.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, messageWait)
	defer cancel()
	return it.Next(jetstream.NextContext(ctx))
}
