// Package sensor makes the messages of one host of a fleet: at the end of each window, of what
// monitor.Meter and flood.Detector counted in it, and when an incident begins, changes or ends. It
// sends nothing, and takes its time from the packets.
//
//	track.Sighting
//	  |
//	  v
//	Sensor            is the window over? Then, before the packet counts anywhere:
//	  |                 flood.Detector up to its last second, counters of monitor.Meter,
//	  |                 a Server for each, a Host, findings, what servers say of themselves
//	  v
//	monitor.Meter, flood.Detector
//	  |  observers
//	  v
//	Sensor            an Incident when one begins or ends; what changed meanwhile, with the window
//
// # Of the same seconds
//
// Windows begin at multiples of fleet.Period in Unix time, and so do the panes of the detector's
// sketches (flood.Detector.Share): the sketch in a Server is of exactly the window, so that those of
// all hosts for a window merge into what one host would have counted. Its Features are what the rules
// of one host judge: of the window and, where queries came in it, the one before; Features has how
// many seconds these are (measure.Window).
//
// # As many bytes in a flood as in peace
//
// What is sent in a window does not grow with the traffic: sketches and features have one size, and
// lists are bounded and filled up. A Server is of the same length whether nobody asks or a million
// forged hosts do, but for digits. Events are bounded for each window, see windowBytes.
package sensor
