// Package fingerprint recognises the programs that ask servers, by what their requests show.
//
// A request for information is the same in nearly all programs. What differs is what a program
// has in place of a challenge that it does not have yet, whether it brings a challenge again for
// the next question or asks for another, in which order and at which pace it asks, and from how
// many ports. Each of these is one of Signs, which track collects while answers come: of one
// client at one server, in one visit. Programs, the table of this package, lists which signs a
// program shows and which it needs to be recognised.
//
// It is no proof: whoever wants to can send what another program sends. Signs that fit no row
// get a name made of themselves, the same in every capture.
package fingerprint
