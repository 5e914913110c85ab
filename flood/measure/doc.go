// Package measure counts what happens at one server that is watched closely, and turns
// a second of it into features: numbers that verdicts rest on. It decides nothing and
// knows no incident: package flood does.
//
// A sighting is counted in three books:
//
//	seconds   how many of each sort, in the last binSeconds (second.go)
//	panes     who sent them and what they look like: sketches of ten seconds; a look
//	          goes over the pane at hand and the one before, 10 to 20 s (pane.go)
//	claims    which sources were given a challenge and brought it back: the one proof of
//	          an address that the protocols have (claims.go, proof.go)
//
// When a second ends, Server.Look fills the features (look.go, crowd.go) and Server.Learn
// moves what is usual there (server.go). feature.go names the features.
//
// State has fixed bounds (limits.go): no number of addresses makes any of it grow.
package measure
