// Package fleettest simulates a fleet: hosts with game servers, the people, monitors and attackers
// that ask them, a sensor on each host, and what the sensors tell. It is not part of the program.
//
//	World       what happens, drawn from a seed: a packet is seen at its host, and nowhere else
//	  |
//	  |  track.Sighting, in packet order for each host
//	  v
//	Sensor      what qsniff monitor has: monitor.Meter, flood.Detector, internal/fleet/sensor
//
// A World has no clock: it makes the packets up to a time that the test names. So a test that runs
// in a bubble of package synctest can have brokers and hubs, which have clocks, live through hours
// in seconds, and everything in it has the time of the packets.
package fleettest
