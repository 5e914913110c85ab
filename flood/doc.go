// Package flood finds floods of game-server queries, and what else is done to servers with
// queries and replies, in sightings: one fixed-size record for each packet. It reads no
// bytes of a packet, keeps no time of its own and writes no advice: package advice does,
// through the interface Advisor.
//
// # The way of a sighting
//
// Detector.Sight (detector.go) first closes the seconds that are over. Then others.go and
// package other count what is no query; what has a name there, the replies of amplifiers
// and the messages of other games, is nobody else's. The rest goes on (sight.go):
//
//	request   servers.go finds its server: asked much, it is watched closely, else counted
//	          coarsely. measure.Claims reads whether it brings a challenge back, and
//	          measure.Server counts it as a query, a guess or the end of an exchange.
//	          scan.go counts it if the server never answered.
//	reply     counted at its server, and at its host if that did not ask (victim.go).
//	          posture.go counts data that needed no challenge.
//	junk      counted at its server.
//	login     with its refusal or welcome, in rcon.go.
//
// # The way of a second
//
// When a second is over (Detector.tick), in this order: each server that is watched closely
// is judged (watched.go): an alarm on its rate asks for a look (measure.Server.Look), the
// look gives features, the rules (table.go, condition.go) make a verdict of them
// (verdict.go), and the verdict moves the course of that family of traffic (course.go), with
// or without an incident. Then come hosts that get replies (victim.go), consoles (rcon.go),
// what else came than queries (others.go), the sample of claims, the turn of filters, and sources that scan (scan.go).
//
// # The way of an incident
//
//	opens     a verdict has held long enough: book.openIncident numbers it and joins it to a
//	          campaign; lists.go and evidence.go fill in who and why; the advisor writes
//	          advice and tries it; Found is called with Begins.
//	changes   another kind is surer for some seconds, or the peak doubled: Found, Changes.
//	closes    nothing qualified for the quiet time: the trial is concluded, Found, Ends.
//	          What is open when the capture ends has no end, and Found is called as well.
//
// An incident belongs to the watcher that opened it until Found returns from Ends.
// Collector (collect.go) keeps copies for a report.
//
// # State
//
// Everything has a fixed size (limits.go, measure/limits.go): no number of addresses makes
// it grow. Tables are keyed (New). A packet costs no allocation once the tables are full;
// verdicts and features lie in fixed places. Incidents and their texts are allocated.
//
// # Where numbers come from
//
// Thresholds can be set by users; each has its origin at its default (thresholds.go). The
// limits and points of rules have theirs in table.go, those of measures in package measure,
// those of watchers beside the code. --explain prints all of the first three from the same
// values (explain.go), and testdata/rules.txt pins them.
//
// # Files
//
//	detector.go sight.go          the clock, and where a packet goes
//	servers.go watched.go         servers, coarsely and closely
//	victim.go scan.go rcon.go posture.go   the other watchers
//	others.go others_rule.go      floods of what is no query
//	course.go evidence.go lists.go words.go   how an incident goes and what it says
//	table.go condition.go verdict.go   rules on queries, guesses and junk
//	thresholds.go settings.go explain.go   what users set, and what they are told
//	book.go incident.go advisor.go   what all watchers share
//	collect.go seen.go            for reports
package flood
