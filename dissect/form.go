package dissect

// Form is a set of what a request shows besides what it asks for. Programs that ask for the same
// differ in it, and servers answer all of them.
type Form uint8

// What a request may show.
const (
	NoToken    Form = 1 << iota // it has no Token where there is room for one
	TokenOnes                   // a placeholder is in place of its Token, of bits that are all set
	TokenZero                   // likewise, of bits that are all clear
	BytesAfter                  // bytes follow that the protocol does not define
	Padded                      // bytes of zero follow
	WordNUL                     // it is a word that a NUL ends
	WordBare                    // it is a word that nothing ends
)
