// Package flood finds floods of game-server queries, and other abuse of servers' queries and
// replies, in sightings: one fixed-size record for each packet. It reads no bytes of a
// packet, takes its time from the packets, and writes no advice: package advice does that,
// through the interface Advisor.
//
// # The way of a sighting
//
// Detector.Sight (detector.go) first closes the seconds that are over. Packets that are no queries are
// counted by class (others.go, package other); those of a class that has a name, such as replies of
// amplifiers and messages of other games, are counted nowhere else. All other packets go on to
// Detector.handle (detector.go). Queries that own.go ascribes to tools of the operator are counted apart,
// and a rule of their own judges them:
//
//	request   networks.go counts it at the network of its server: many servers of one network
//	          that get much together are watched closely as one, whatever each of them gets.
//	          servers.go finds its server. One that gets many requests is watched closely;
//	          the others are counted coarsely. measure.Claims finds out whether the
//	          request brings a challenge back, and measure.Server counts it as a query, a
//	          guess or the end of an exchange. scan.go counts it if the server never
//	          answered.
//	reply     counted at its server, and at its receiver if that did not ask (victim.go).
//	          amplifier.go counts data sent without a challenge.
//	junk      counted at its server.
//	login     counted with the refusal or the welcome that answers it, in rcon.go.
//
// # The way of a second
//
// When a second is over, Detector.closeSecond judges each network and then each server that is
// watched closely (servers.go): an alarm on its rate asks for features (measure.Server.Measure), the rules
// (table.go) make a verdict of them (rule.go), and the verdict is applied to
// the course of that family of traffic (course.go), which may open, change or close an
// incident. Then come hosts that get replies (victim.go), consoles (rcon.go), what else came
// than queries (others.go), the sample of claims, the periods of filters, and sources that
// scan (scan.go).
//
// # The way of an incident
//
//	opens     a verdict has held long enough: book.openIncident numbers it and joins it to a
//	          campaign; evidence.go fills in sources and reasons; the advisor writes
//	          advice and begins to try its rules; observers are called with Begins.
//	changes   another kind is surer for several seconds, or the peak doubled: observers are
//	          called with Changes.
//	closes    nothing qualified for the quiet time, or for pulseQuiet after short pulses: the
//	          trial is concluded, and observers are called with Ends. An incident that is open when the capture ends has no
//	          end time; observers are called with Ends as well.
//
// What is found at a server while its network has such an incident is part of that, unless the
// server stands out (networks.go). A server with an incident of its own is left out of the sums
// of its network.
//
// An incident belongs to the watcher that opened it until the observers return from Ends.
// Collector (collect.go) keeps copies for a report.
//
// # State
//
// Everything has a fixed size (the constants marked "limit:"): no number of addresses makes
// it grow. At the default size the detector takes 10 MiB from the first packets on, of which package other
// takes 2.4 MiB, 36 MiB with all servers, networks, victims and hosts that there is room for, and up to 19 KiB
// for each open incident; with tools of the operator, up to 6.4 MiB more. Hashes are made with a secret seed. A packet costs no allocation once the tables
// are full; verdicts and features are kept in place. Incidents and their texts are allocated.
//
// # Where numbers come from
//
// Thresholds can be set by users; each has its origin at its default (settings.go). The
// limits and points of rules have theirs in table.go, those of measures in package measure,
// those of watchers beside the code. --explain prints thresholds, rules and the constants of
// watchers from these same values (explain.go), and testdata/rules.txt pins them.
//
// # Files
//
//	detector.go                              the clock, and where a packet goes
//	servers.go                               servers, coarsely and closely
//	networks.go                              networks of many servers, coarsely and closely
//	own.go                                   tools of the operator, and the two groups of queries that are judged separately
//	notes.go                                 one note for servers that the same sources ask
//	victim.go scan.go rcon.go amplifier.go   the other watchers
//	others.go                                floods of what is no query
//	course.go                                how an incident goes, and when it comes in pulses
//	evidence.go                              what it reports
//	table.go rule.go                         rules on queries, guesses and junk
//	settings.go explain.go                   what users set, and what --explain prints
//	book.go incident.go                      what all watchers share
//	advice.go                                what is to be done, which another package writes
//	collect.go                               for reports
//	detector.go rule.go                      measurements that fit those of other hosts, and verdicts on theirs
package flood
