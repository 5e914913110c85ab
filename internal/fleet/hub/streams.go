package hub

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"qsniff/internal/fleet"
)

// Names are those of a fleet's streams and bucket, and the subjects that are not of sensors.
type Names struct {
	Counts, Events, Campaigns, Bucket string
}

// NamesOf returns the names for a prefix of subjects.
func NamesOf(prefix string) Names {
	word := strings.ToUpper(strings.ReplaceAll(prefix, ".", "_"))
	return Names{Counts: word + "_COUNTS", Events: word + "_EVENTS", Campaigns: word + "_CAMPAIGNS", Bucket: word + "_HUB"}
}

// subjectOf returns the subject under which hubs publish events of a kind.
func subjectOf(prefix, kind string) string {
	return fleet.Subject(prefix, fleet.HubName, fleet.Kind(kind))
}

// CheckPrefix returns an error if a fleet cannot have that prefix.
func CheckPrefix(prefix string) error {
	for word := range strings.SplitSeq(prefix, ".") {
		if fleet.CheckName(word) != nil || strings.HasPrefix(word, "_") {
			return fmt.Errorf("%.100q: a prefix of subjects is words of letters, digits, - and _, with dots between", prefix)
		}
	}
	return nil
}

// kindsOf are the kinds of messages in the two streams that sensors write.
var (
	kindsOfCounts = []fleet.Kind{fleet.KindServer, fleet.KindHost}
	kindsOfEvents = []fleet.Kind{fleet.KindIncident, fleet.KindFinding, fleet.KindInventory}
)

// StreamOf returns the stream in which messages of a kind are.
func (n *Names) StreamOf(k fleet.Kind) string {
	for _, x := range kindsOfCounts {
		if x == k {
			return n.Counts
		}
	}
	return n.Events
}

// Retention is how long the streams keep messages.
type Retention struct {
	Age  time.Duration // of counts
	Size int64         // bytes of counts
}

// streamsOf returns the configurations of the streams.
func streamsOf(prefix string, r Retention, replicas int) []jetstream.StreamConfig {
	n := NamesOf(prefix)
	subjects := func(kinds []fleet.Kind) (all []string) {
		for _, k := range kinds {
			all = append(all, fleet.Subject(prefix, "*", k))
		}
		return all
	}
	base := jetstream.StreamConfig{Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardOld, Storage: jetstream.FileStorage,
		MaxMsgSize: fleet.MaxMessage + headRoom, Duplicates: duplicates, Replicas: replicas, Compression: jetstream.S2Compression, AllowDirect: true}
	counts, events, campaigns := base, base, base
	counts.Name, counts.Subjects, counts.Description = n.Counts, subjects(kindsOfCounts), "what servers and sensors counted"
	counts.MaxAge, counts.MaxBytes = r.Age, r.Size
	events.Name, events.Subjects, events.Description = n.Events, subjects(kindsOfEvents), "incidents, findings and inventory"
	events.MaxAge, events.MaxBytes = eventsLonger*r.Age, max(r.Size/eventsSmaller, leastSize)
	campaigns.Name, campaigns.Subjects, campaigns.Description = n.Campaigns, []string{subjectOf(prefix, eventCampaign), subjectOf(prefix, eventSensor)}, "what hubs tell"
	campaigns.MaxAge, campaigns.MaxBytes = events.MaxAge, events.MaxBytes
	return []jetstream.StreamConfig{counts, events, campaigns}
}

// leastSize is the smallest size of a stream. Chosen: about 2,000 messages of servers, of 7 KiB each.
const leastSize = 16 << 20

// makeStreams makes the streams and the bucket, or gives those that are there these limits.
func (h *Hub) makeStreams(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	var made []jetstream.Stream
	for _, c := range streamsOf(h.opt.Prefix, h.opt.Retention, h.opt.Replicas) {
		s, err := h.js.CreateOrUpdateStream(ctx, c)
		if err != nil {
			return fmt.Errorf("the stream %s: %w", c.Name, err)
		}
		made = append(made, s)
	}
	h.counts, h.events, h.campaigns = made[0], made[1], made[2]
	var err error
	h.bucket, err = h.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: h.names.Bucket, Description: "the state of hubs", History: 1,
		Storage: jetstream.FileStorage, Replicas: h.opt.Replicas, LimitMarkerTTL: time.Hour})
	if errors.Is(err, jetstream.ErrLimitMarkerTTLNotSupported) {
		return fmt.Errorf("the broker is older than 2.11: %w", err)
	}
	if err != nil {
		return fmt.Errorf("the bucket %s: %w", h.names.Bucket, err)
	}
	return nil
}
