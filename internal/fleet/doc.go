// Package fleet defines what the hosts of a fleet, the sensors, report to a hub about their traffic: the
// messages, the subjects that they are published under, and what hides the addresses of clients in
// them. It publishes nothing and judges nothing: internal/fleet/sensor makes the messages, internal/fleet/outbox
// brings them to a broker, and internal/fleet/campaign finds what they show together.
//
//	track.Sighting   on each host
//	  |
//	  v
//	monitor.Meter, flood.Detector
//	  |
//	  |  internal/fleet/sensor: every Period, by the time of packets
//	  v
//	Server, Host, Incident, Finding, Inventory        JSON, of bounded size
//	  |
//	  |  internal/fleet/outbox, in the messenger process: spool, broker
//	  v
//	JetStream        streams of one subject a sensor and kind
//	  |
//	  v
//	internal/fleet/campaign   windows of all sensors, campaigns; internal/fleet/hub brings messages to it and reports them
//
// # What is not in a message
//
// There is no packet in a message, and no address of a client, but for Sealed ones: addresses
// encrypted with the secret of the fleet, which sensors and hubs have and brokers need not. Counts
// of sources travel as sketches of hashes that are keyed with the same secret. Whoever has the
// secret can open and test addresses; whoever has not can only see that two are equal.
//
// # Hostile input
//
// Whatever can publish may send anything: Parse bounds every length, and what a message says of its
// sensor must be what the subject says, for which the broker vouches.
package fleet
