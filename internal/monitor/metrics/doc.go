// Package metrics gives the snapshots of package monitor to Prometheus. It counts nothing
// itself: each scrape reads one snapshot, and makes constant metrics of it.
//
// Names begin with qsniff_, units are base units. Labels have values of closed sets: servers
// that have counters of their own (and other), kinds of messages that protocols declare,
// outcomes, kinds and levels of incidents. No address of a client is in any. The number of
// series changes only when a server, or a kind of message at one, is there for the first time.
package metrics
