// Package finding defines findings, known to users of Wireshark as "expert info": what is
// wrong or notable in the traffic, how bad it is and whose fault. It contains no finding
// itself: every stage declares those that it can raise, as Codes, and raises one as an
// Expert.
package finding

import (
	"net/netip"
	"strconv"
	"strings"
)

// Severity orders findings by how much they matter.
type Severity uint8

// The four severities, mildest first.
const (
	Chat  Severity = iota // a normal event worth a mark
	Note                  // explains a surprise
	Warn                  // will hurt somebody
	Error                 // the protocol is violated, or harm is being done now
)

var severities = [...]string{"chat", "note", "warn", "error"}

// String returns the name of the severity in outputs.
func (s Severity) String() string { return severities[s] }

// Fault is the party at which a finding points.
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

// String returns the name of the party in outputs.
func (f Fault) String() string { return faults[f] }

// Code is a kind of finding. The stage that raises it declares it once, as a package-level
// variable. IDs are part of the output format: they are never reused and never renamed.
type Code struct {
	ID       string // "A2S-S07"
	Severity Severity
	Fault    Fault
	Seen     string // what was seen on the wire
	Means    string // what it means for the author or the administrator
	Owner    string // what the server's owner does about it, or "nothing: " and why
	Client   string // what a tolerant client does, or "nothing: " and why
	Ref      string // where to read more, or empty
	// Format is the sentence, with verbs for the numbers: see appendFormat.
	Format string
	// Text appends a sentence that no Format can have. It is called only when the
	// finding is shown.
	Text func(dst []byte, e *Expert) []byte
}

// Do returns the advice for both parties in one text.
func (c *Code) Do() string {
	return "Owner: " + strings.TrimSuffix(c.Owner, ".") + ". Client: " + strings.TrimSuffix(c.Client, ".") + "."
}

// Expert is one raised finding. Evidence that does not fit into two numbers is a
// field of the message or an address.
type Expert struct {
	Code     *Code
	Severity Severity // as raised: lower than the code's where it rests on absence in a lossy capture
	Field    int32    // index into the message's fields, or -1 for the whole message
	Place    Place    // where that field is
	A, B     uint64   // numbers for the sentence, whose meaning the code defines
	Addr     netip.AddrPort
	Frames   [2]uint64 // first and last packet of the evidence; 0 if there are none
}

// Place is where a field is in its message, whose bytes count from 0. It is empty for a finding about
// the whole message, and for one about several.
type Place struct {
	Name string // of the field, as in filters: "a2s.info.edf"
	At   uint32 // its first byte
	Ends uint32 // how many bytes the message had when it was sent
}

// Append appends the field's name and its place.
func (p *Place) Append(dst []byte) []byte { return p.AppendAt(append(dst, p.Name...)) }

// AppendAt appends the place alone.
func (p *Place) AppendAt(dst []byte) []byte {
	return strconv.AppendUint(append(dst, " at byte "...), uint64(p.At), 10)
}

// AppendText appends the finding's sentence to dst.
func (e *Expert) AppendText(dst []byte) []byte {
	if e.Code.Text != nil {
		return e.Code.Text(dst, e)
	}
	return appendFormat(dst, e.Code.Format, e)
}

// AppendUnsure appends why the finding is less severe than its code, if it is: packets that
// the capture lacks may refute it.
func AppendUnsure(dst []byte, e *Expert) []byte {
	if e.Severity == e.Code.Severity {
		return dst
	}
	return append(dst, ", unless packets that the capture lacks say otherwise"...)
}
