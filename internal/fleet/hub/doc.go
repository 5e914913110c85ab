// Package hub runs internal/fleet/campaign on the streams of a JetStream broker: it makes the streams, reads
// them, keeps its state in a key-value bucket, and reports each event of a campaign once, however many
// hubs there are. It judges nothing itself.
//
// # One leads
//
// Any number of hubs may run on the same broker. One of them leads: it holds the key leader of the
// bucket and renews it. The others look at that key: the first that has seen it unchanged for LeaseTime,
// by its own clock, takes it. No clock of one machine is compared with that of another.
//
// # A round
//
//	COUNTS, EVENTS   what came since the last round, by the broker's time
//	  |
//	campaign.Engine  events of campaigns
//	  |
//	bucket           the state, with these events in it, replaces the one before by its revision
//	  |
//	CAMPAIGNS        the events, each after the last message that the hub has seen there
//	  |
//	bucket           told.EVENT: the hub that makes this key reports the event
//	  |
//	tell.Messenger   a Note
//
// The state has the numbers of the last messages read, and the events that are not known to be delivered.
// A hub that takes over goes on from it: what was read after it was written is read again, and no event
// of that was reported. A hub that is paused for an hour and goes on believes that it leads; what it
// writes fails by the revision, its events are there already, and its marks are taken.
//
// # What is counted
//
// Between the mark and the report that a Note was delivered a hub can die. It cannot be determined then whether the
// Note was delivered: such an event counts as uncertain and is not reported again. Messages that the streams
// dropped before they were read count as lost, those that Parse refuses by reason and sensor.
package hub
