package track

import (
	"qsniff/dissect"
	"qsniff/internal/track/fingerprint"
)

// Step is the role of a message in an exchange.
type Step uint8

// The steps.
const (
	NoStep    Step = iota // a one-way message, or a protocol that is not paired
	Ask                   // the first request of an exchange
	Again                 // the same request once more, before an answer
	Echo                  // the request with the challenge that this exchange was given
	Challenge             // a challenge in place of an answer
	Answer                // the reply
	Extra                 // a further reply to a request that was replied to, or that the client gave up
	Late                  // the reply, when the wait for it was over
	Stray                 // a reply that no request in the capture caused
	Silence               // no message: the wait for any reply to the last request ended
)

var steps = [...]string{"", "ask", "again", "echo", "challenge", "answer", "extra", "late", "stray", "silence"}

// String returns the step's name in tests.
func (s Step) String() string { return steps[s] }

// Part is the place of a message in its exchange. Times are in nanoseconds, and -1
// where there is none.
type Part struct {
	Step Step
	// BroughtChallenge is set if a request of the exchange brought a challenge: the one of this
	// exchange or, in its first request, one given before.
	BroughtChallenge bool
	// GotChallenge is set of a Silence if the server replied to an earlier request with a challenge.
	GotChallenge bool
	// IsThird is Repeat.IsThird.
	IsThird bool
	// Asked is set of a Challenge if no other question than this one can have caused it.
	Asked dissect.Asked
	// ID is the frame of the exchange's first request; 0 if the message belongs to no
	// exchange.
	ID uint64
	// Began is, of a Silence, the age of that request.
	Began int64
	// Request is the frame of the request that a reply answers: the last one before it that
	// asks for it. It is 0 for requests, and where the capture does not show which one that is.
	Request uint64
	// Took is the time from that request to the first packet of a reply: the
	// service response time of an Answer, the round trip of a Challenge.
	Took int64
	// Trip is, of an Answer, the round trip of the challenge before it.
	Trip int64
	// Gap is Repeat.Gap.
	Gap int64
	// IsObsolete is set for an Answer to a request of an obsolete type.
	IsObsolete bool
	// RequestBytes is, of an Answer, the size of the last request; 0 if that is padded to
	// maxSize or more.
	RequestBytes uint8
	// Signs are what the client's visit to the server showed up to an Answer, that included, or
	// up to a request.
	Signs fingerprint.Signs
}
