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

import (
	"iter"
	"math/bits"
	"slices"
)

// Signs is a set of what a client showed in a visit: its exchanges with one server, each of which
// was answered, without a longer pause. It is empty of a client that nobody answered, so packets
// from invented addresses show none.
type Signs uint32

// The signs. A page is a question for players or rules.
const (
	InfoBare   Signs = 1 << iota // the first request for information had no challenge
	InfoOnes                     // it had a placeholder of ones in place of one
	InfoZero                     // it had a placeholder of zeros
	InfoToken                    // it brought an earlier challenge: of another question, or of an earlier visit
	PageBare                     // likewise of a page
	PageOnes                     //
	PageZero                     //
	PageToken                    //
	AsksToken                    // a challenge was asked for by itself
	BytesAfter                   // a request had bytes after its end
	Padded                       // a request had zeros after its end
	WordNUL                      // a request was a word that a NUL ended
	WordBare                     // a request was a word that nothing ended
	OnePort                      // different questions came from one port
	ManyPorts                    // different questions came from different ports
	Anew                         // a challenge was asked for though an earlier one had been brought back
	RulesFirst                   // rules were answered before players were
	Paused                       // a question came half a second after the request before it
	InfoTwice                    // information was asked for again as soon as it had come
	StartTTL                     // its packets set out with a time to live of 255, and no challenge was brought back
	FixedID                      // likewise, and their IP ID is 54321
	OddToken                     // bytes of another length were in place of a challenge
	numSigns   = iota
)

// header are the signs of packets' headers. Routers and hosts of every kind set these, so they make no program
// another one, and no name of an unknown client: only rows that need them look at them.
const header = StartTTL | FixedID

// names are the signs in words, as the manual and JSON have them. They are output: the names of
// unknown clients are made of them.
var names = [numSigns]string{
	"info-bare", "info-ones", "info-zero", "info-token", "page-bare", "page-ones", "page-zero", "page-token",
	"asks-token", "bytes-after", "padded", "word-nul", "word-bare", "one-port", "many-ports", "anew",
	"rules-first", "paused", "info-twice", "ttl-255", "id-54321", "odd-token",
}

// meanings explain them.
var meanings = [numSigns]string{
	"the first request for information has no challenge", "the first request for information has FF FF FF FF in place of a challenge",
	"the first request for information has 00 00 00 00 in place of a challenge", "the first request for information brings an earlier challenge",
	"the first request for players or rules has no challenge", "the first request for players or rules has FF FF FF FF in place of a challenge",
	"the first request for players or rules has 00 00 00 00 in place of a challenge", "the first request for players or rules brings an earlier challenge",
	"a challenge is asked for by itself", "bytes follow the end of a request", "zeros follow the end of a request",
	"a request is a word that a NUL ends", "a request is a word that nothing ends",
	"different questions come from one port", "different questions come from different ports",
	"a challenge is asked for though an earlier one was brought back", "rules are answered before players are",
	"a question comes half a second after the request before it", "information is asked for again as soon as it came",
	"packets came with a time to live above 128, so they set out with 255, and no challenge was brought back", "likewise, and their IP ID is 54321", "bytes of another length than a challenge are in its place",
}

// All iterates over the names of the signs in s, in the order of the table.
func (s Signs) All() iter.Seq2[string, string] {
	return func(yield func(name, meaning string) bool) {
		for ; s != 0; s &= s - 1 {
			if i := bits.TrailingZeros32(uint32(s)); !yield(names[i], meanings[i]) {
				return
			}
		}
	}
}

// Every is all signs.
const Every Signs = 1<<numSigns - 1

// IsFuller reports whether s shows as much as t, or more: of two visits of a client, which one is
// to be kept.
func (s Signs) IsFuller(t Signs) bool {
	return bits.OnesCount32(uint32(s)) >= bits.OnesCount32(uint32(t))
}

// hash returns a number that equal sets have in common, made of names: it stays when signs are
// added to the table.
func (s Signs) hash() uint16 {
	sorted := make([]string, 0, numSigns)
	for name := range (s &^ header).All() {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	const offset, prime = 2166136261, 16777619 // FNV-1a
	h := uint32(offset)
	for _, name := range sorted {
		for i := range len(name) {
			h = (h ^ uint32(name[i])) * prime
		}
		h = (h ^ ' ') * prime
	}
	return uint16(h ^ h>>16)
}
