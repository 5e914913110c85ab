// Package hub runs fleet/campaign on the streams of a JetStream broker: it makes the streams, reads
// them, keeps its state in key-value buckets, and tells of campaigns once, however many hubs there are.
package hub
