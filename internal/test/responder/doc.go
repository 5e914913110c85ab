// Package responder answers the queries of real clients the way game servers do,
// with messages that it is given, so that a test can compare what a client reads
// in an exchange with what qsniff decodes from its capture. It is not a game server
// and not part of qsniff: only tests import it, it listens on the loopback address
// alone, and it makes nothing up but challenges and the frame of RCON.
package responder
