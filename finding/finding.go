// Package finding says what a finding ("expert info") is. It is a leaf: every
// stage declares the findings it can raise in a table of its own, and no
// finding is known here.
package finding

import "net/netip"

// Severity orders findings by how much they matter.
type Severity uint8

// The four severities, mildest first.
const (
	Chat  Severity = iota // a normal event worth a mark
	Note                  // explains a surprise
	Warn                  // will hurt somebody
	Error                 // the protocol is broken, or harm is being done now
)

var severities = [...]string{"chat", "note", "warn", "error"}

func (s Severity) String() string { return severities[s] }

// Fault is the party that a finding points at.
type Fault uint8

// The parties.
const (
	Client Fault = iota
	Server
	Path
	Middlebox
	Capture
)

var faults = [...]string{"client", "server", "path", "middlebox", "capture"}

func (f Fault) String() string { return faults[f] }

// Code is a kind of finding, declared once in a package-level table of the
// stage that raises it. IDs are output format: never reused, never renamed.
type Code struct {
	ID       string // "A2S-S07"
	Severity Severity
	Fault    Fault
	Seen     string // what was seen on the wire
	Means    string // what it means for the author or the administrator
	Do       string // what to do about it
	Ref      string // where to read more
	// Text appends the sentence with its numbers. It is called only when the
	// finding is shown.
	Text func(dst []byte, e *Expert) []byte
}

// Expert is one finding, raised. Evidence that does not fit two numbers is a
// field of the message or an address.
type Expert struct {
	Code     *Code
	Severity Severity // as raised: lower than the code's where it rests on absence in a lossy capture
	Field    int32    // index into the message's fields, or -1 for the whole message
	A, B     uint64   // what they count is the code's own business
	Addr     netip.AddrPort
	Frames   [2]uint64
}

// AppendText appends the finding's sentence.
func (e *Expert) AppendText(dst []byte) []byte { return e.Code.Text(dst, e) }

// AppendUnsure appends why a finding is less severe than its kind, if it is.
func AppendUnsure(dst []byte, e *Expert) []byte {
	if e.Severity == e.Code.Severity {
		return dst
	}
	return append(dst, ", unless packets that the capture lacks say otherwise"...)
}
