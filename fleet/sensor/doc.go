// Package sensor makes the messages of one host of a fleet: at the end of each window, of what
// monitor.Meter and flood.Detector counted in it, and when an incident begins, changes or ends. It
// sends nothing, and takes its time from the packets.
package sensor
