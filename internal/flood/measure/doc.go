// Package measure counts the packets of one server that is watched closely, and turns
// each second of them into features: the numbers on which package flood decides whether
// the server is attacked. It decides nothing itself and has no incidents.
//
// Each sighting is counted in three places:
//
//	seconds   how many packets of each sort came, for the last BinSeconds (second.go)
//	panes     who sent them and what they look like: sketches of PaneSeconds each. The
//	          window that features cover is the current pane and the previous one, 10 to
//	          20 s (pane.go)
//	claims    which sources were given a challenge and brought it back: the one proof of
//	          an address that the protocols have (claims.go, proof.go)
//
// When a second ends, Server.Measure computes the features (measure.go, crowd.go) and
// Server.Learn moves the baseline towards that second (count.go). feature.go names the
// features. Receiver does the same for a host that gets replies it did not request
// (receiver.go).
//
// State has fixed bounds (limits.go): no number of addresses makes any of it grow.
package measure
