// Package responder answers the queries of real clients the way game servers do,
// with messages that it is given, so that a test can hold what a client makes of
// an exchange against what qsniff makes of its capture. It is not a game server
// and not part of the program: only tests import it, it listens on the loopback
// address alone, and it says nothing of its own beyond challenges and the frame of
// RCON.
package responder
