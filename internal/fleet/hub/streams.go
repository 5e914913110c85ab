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
	// Room returns how many bytes of counts the disk has room for at the moment; nil: any. Hubs ask it now and then, and
	// remove the oldest messages that they have read where that is less than Size.
	Room func() int64
}

// events returns the size of the stream of events where counts have a size.
func eventsSize(counts int64) int64 { return max(counts/eventsSmaller, leastSize) }

// perSubject returns how many messages of a subject a stream holds, so that those of one sensor take half of it at most,
// of the largest size. Beyond, its own oldest messages go.
func perSubject(size int64, kinds, most int) int64 {
	return max(size/2/int64(kinds*(most+headRoom)), leastPerSubject)
}

// streamsOf returns the configurations of the streams. The two that sensors write refuse new messages when they are full:
// a sensor keeps what is refused, and the hub that leads removes the oldest of those that it has read before it comes to
// that. So no message displaces one that no hub has read.
func streamsOf(prefix string, r Retention, replicas int) []jetstream.StreamConfig {
	n := NamesOf(prefix)
	subjects := func(kinds []fleet.Kind) (all []string) {
		for _, k := range kinds {
			all = append(all, fleet.Subject(prefix, "*", k))
		}
		return all
	}
	base := jetstream.StreamConfig{Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew, Storage: jetstream.FileStorage,
		MaxMsgSize: fleet.MaxMessage + headRoom, Duplicates: duplicates, Replicas: replicas, Compression: jetstream.S2Compression, AllowDirect: true}
	counts, events, campaigns := base, base, base
	counts.Name, counts.Subjects, counts.Description = n.Counts, subjects(kindsOfCounts), "what servers and sensors counted"
	counts.MaxAge, counts.MaxBytes, counts.MaxMsgSize = r.Age, r.Size, fleet.MaxCounts+headRoom
	counts.MaxMsgsPerSubject = perSubject(r.Size, len(kindsOfCounts), fleet.MaxCounts)
	events.Name, events.Subjects, events.Description = n.Events, subjects(kindsOfEvents), "incidents, findings and inventory"
	events.MaxAge, events.MaxBytes = eventsLonger*r.Age, eventsSize(r.Size)
	events.MaxMsgsPerSubject = perSubject(events.MaxBytes, len(kindsOfEvents), fleet.MaxMessage)
	campaigns.Name, campaigns.Subjects, campaigns.Description = n.Campaigns, []string{subjectOf(prefix, eventCampaign), subjectOf(prefix, eventSensor)}, "what hubs tell"
	campaigns.Discard, campaigns.MaxAge, campaigns.MaxBytes = jetstream.DiscardOld, events.MaxAge, max(r.Size/campaignsSmaller, leastSize)
	return []jetstream.StreamConfig{counts, events, campaigns}
}

// leastPerSubject is the fewest messages of a subject that a stream holds. Chosen: what a detector begins in a minute.
const leastPerSubject = 32

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
