// Package campaign finds what the messages of all sensors of a fleet show together: floods that stay
// below what is conspicuous at each host, the same attackers at one host after another, the same
// reflectors. It speaks with no broker, and takes its time from the messages and from when the broker
// got them: the same calls in the same order give the same campaigns.
//
// # The way of a message
//
// Engine.Consume drops a message that came before, by sensor, run and number (sensor.go), learns how far
// the clock of the sensor is off (sensor.go), and files the message: a Server in its window
// (window.go), an Incident in the list of them (incident.go). Of servers that get no more than usual a
// window keeps no sketch, only what they add to the sums of the fleet.
//
// # The way of a window
//
// Engine.Advance closes each window when the broker's time is lateness after its end. carpet.go
// adds up the servers that get much more than usual: rates add up, shares weigh with the queries, sources are
// counted by merged sketches (combine.go), and the rules that judge a single server judge the sum. Servers that get much more
// junk than usual are judged apart (carpet.go).
// link.go compares incidents of different hosts. What is found opens, changes and closes campaigns
// (course.go). Messages of a window that was closed, as after a cut network, are a window of their own,
// which is closed when no more of them come.
//
// # State
//
// Everything is bounded (limits.go), and what is dropped is in Counters. A sensor with 16 servers takes 12 KiB
// on a calm day, and as many in a snapshot; a raised server 4 KiB more while its window is open. A
// message takes 15 us to file and judge, so that one core carries 10,000 such sensors at a quarter of its
// time, beside what it takes to parse (BenchmarkWindow, on a machine that had other work).
// Engine.Snapshot returns all of the state; Engine.Restore continues from there.
//
// # What it does not find
//
// A carpet on few servers of a large fleet, while many others get more than usual for other reasons: raised
// servers are judged together by protocol, and those with visitors outweigh the others. A carpet of junk on fewer hosts
// than half of those that get some junk, or at servers that get more queries than junk. Carpets of guessed challenges.
package campaign
