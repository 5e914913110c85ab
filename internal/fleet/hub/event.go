package hub

import (
	"encoding/json"
	"strconv"

	"qsniff/internal/fleet/campaign"
)

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
