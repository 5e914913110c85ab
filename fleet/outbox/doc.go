// Package outbox brings the messages of a sensor to a JetStream broker, in order and once each. While
// the broker is away it keeps them in memory and on disk, within limits, and counts what it drops.
package outbox
