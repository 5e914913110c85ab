package notify

import (
	"encoding/json"
	"sync/atomic"
)

// Fleet is where the messages of a sensor go, and where they wait. What is a secret is in the files that
// it names.
type Fleet struct {
	URL       string `json:"url"`
	Name      string `json:"name"` // of the sensor
	Prefix    string `json:"prefix"`
	Creds     string `json:"creds,omitempty"`
	CA        string `json:"ca,omitempty"`
	Spool     string `json:"spool,omitempty"`
	SpoolSize int64  `json:"spool_size,omitempty"`
}

// FleetSink begins the name of the sink that stands for the broker of a fleet: Sent are the messages
// that it has acknowledged, Retried the connections that failed, Refused what it will not take, and
// Lost what had no room.
const FleetSink = "fleet at "

// FleetMessage is a message to the hub of a fleet.
type FleetMessage struct {
	Kind string          `json:"kind"`
	ID   string          `json:"id"`
	Line json.RawMessage `json:"line"`
}

// fleetWay has the messages on their way to the other process.
type fleetWay struct {
	waiting chan *FleetMessage
	lost    atomic.Uint64
}

func newFleetWay() fleetWay { return fleetWay{waiting: make(chan *FleetMessage, maxFleet)} }

// PutFleet passes a message on, or counts it as lost. It never blocks.
func (m *Messenger) PutFleet(f *FleetMessage) {
	select {
	case m.fleet.waiting <- f:
	default:
		m.fleet.lost.Add(1)
	}
}

// AddFleetLost counts a message that could not be made.
func (m *Messenger) AddFleetLost() { m.fleet.lost.Add(1) }
