package fleet

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"qsniff/internal/flood/measure"
	"qsniff/internal/flood/sketch"
)

// MaxOf returns the most bytes of a message of a kind.
func MaxOf(k Kind) int {
	if k == KindServer || k == KindHost {
		return MaxCounts
	}
	return MaxMessage
}

// Features are those of a window, by package measure. In messages they are base64 of as many
// little-endian 32-bit floats, so that their size is always the same; NaN is what the capture could
// not give. A newer version of the messages may append features.
type Features measure.Features

// MarshalText implements encoding.TextMarshaler.
func (f Features) MarshalText() ([]byte, error) {
	b := make([]byte, 0, 4*len(f))
	for _, v := range f {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
	}
	return base64.RawStdEncoding.AppendEncode(nil, b), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *Features) UnmarshalText(text []byte) error {
	b := make([]byte, 4*len(f))
	if base64.RawStdEncoding.DecodedLen(len(text)) != len(b) {
		return fmt.Errorf("the features have %d letters in place of %d", len(text), base64.RawStdEncoding.EncodedLen(len(b)))
	}
	if _, err := base64.RawStdEncoding.Decode(b, text); err != nil {
		return err
	}
	for i := range f {
		f[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
	}
	return nil
}

// Sketch counts different hosts. In messages it is base64 of its registers, so that its size is always
// the same.
type Sketch struct{ sketch.Distinct }

// MarshalText implements encoding.TextMarshaler.
func (s *Sketch) MarshalText() ([]byte, error) {
	return base64.RawStdEncoding.AppendEncode(nil, s.AppendPacked(nil)), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Sketch) UnmarshalText(text []byte) error {
	var b [sketch.PackedSize]byte
	if base64.RawStdEncoding.DecodedLen(len(text)) != len(b) {
		return fmt.Errorf("the sketch has %d letters in place of %d", len(text), base64.RawStdEncoding.EncodedLen(len(b)))
	}
	if _, err := base64.RawStdEncoding.Decode(b[:], text); err != nil {
		return err
	}
	return s.Unpack(b[:])
}

// Message is any of *Server, *Host, *Incident, *Finding and *Inventory.
type Message interface{ head() *Head }

func (h *Head) head() *Head { return h }

// HeadOf returns what a message begins with. It is part of the message.
func HeadOf(m Message) *Head { return m.head() }

// Encode returns a message as one line of JSON without its end. It returns an error, and no part, if it
// is longer than MaxOf its kind.
func Encode(m Message) ([]byte, error) {
	b, err := json.Marshal(m)
	if most := MaxOf(HeadOf(m).Kind); err == nil && len(b) > most {
		err = fmt.Errorf("the message has %d bytes, more than %d", len(b), most)
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Reason is why Parse or ParseSubject refuses a message, of a closed set.
type Reason string

// The reasons.
const (
	BadSubject Reason = "subject" // it is none of a sensor
	BadSize    Reason = "size"    // longer than messages are, or a list of it
	BadForm    Reason = "form"    // no JSON of that kind
	BadVersion Reason = "version" // made by a newer program
	BadSender  Reason = "sender"  // it says that it is of another sensor, or another kind
	BadHead    Reason = "head"    // without run, number or time
)

// Reasons has all of them.
var Reasons = []Reason{BadSubject, BadSize, BadForm, BadVersion, BadSender, BadHead}

// refusal is an error with its Reason.
type refusal struct {
	reason Reason
	err    error
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

func refuse(why Reason, format string, args ...any) error {
	return &refusal{why, fmt.Errorf(format, args...)}
}

// ReasonOf returns the reason of an error of Parse.
func ReasonOf(err error) Reason {
	var r *refusal
	if errors.As(err, &r) {
		return r.reason
	}
	return BadForm
}

// Parse reads a message that a sensor published as one of a kind. An error is why it cannot be one;
// ReasonOf returns that in short.
func Parse(sensor string, k Kind, data []byte) (Message, error) {
	if len(data) > MaxOf(k) {
		return nil, refuse(BadSize, "%d bytes are more than a message has", len(data))
	}
	var m Message
	switch k {
	case KindServer:
		m = new(Server)
	case KindHost:
		m = new(Host)
	case KindIncident:
		m = new(Incident)
	case KindFinding:
		m = new(Finding)
	case KindInventory:
		m = new(Inventory)
	default:
		return nil, refuse(BadSubject, "%.32q is no kind of message", k)
	}
	if err := json.Unmarshal(data, m); err != nil {
		return nil, refuse(BadForm, "the message is no JSON of a %s: %w", k, err)
	}
	if err := check(m, sensor, k); err != nil {
		return nil, err
	}
	if s, ok := m.(*Server); ok {
		s.trim()
	}
	return m, nil
}

// trim takes the empty entries off the ends of the lists that sensors fill up.
func (s *Server) trim() {
	for n := len(s.Top); n > 0 && s.Top[n-1] == (Network{}); n-- {
		s.Top = s.Top[:n-1]
	}
	for n := len(s.Forms); n > 0 && s.Forms[n-1] == (Form{}); n-- {
		s.Forms = s.Forms[:n-1]
	}
}

// check returns an error if a message cannot be of that sensor and kind, or has more than messages have.
func check(m Message, sensor string, k Kind) error {
	h := m.head()
	switch {
	case h.Version < 1 || h.Version > Version:
		return refuse(BadVersion, "version %d of messages; this program reads those up to %d", h.Version, Version)
	case h.Sensor != sensor:
		return refuse(BadSender, "the message of %q says that it is of %.100q", sensor, h.Sensor)
	case h.Kind != k:
		return refuse(BadSender, "the message says that it is %.32q, and came as %s", h.Kind, k)
	case len(h.Run) == 0 || len(h.Run) > MaxName || h.Seq == 0 || h.Time <= 0:
		return refuse(BadHead, "the message has no run, no number or no time")
	}
	tooMany := false
	switch m := m.(type) {
	case *Server:
		tooMany = len(m.Asked) > MaxKinds || len(m.Times) > MaxKinds || len(m.Top) > MaxTop || len(m.Forms) > MaxForms
	case *Incident:
		tooMany = len(m.Targets) > MaxTargets || len(m.Top) > MaxTop || len(m.Networks) > MaxTop || len(m.Forms) > MaxForms
	}
	if tooMany {
		return refuse(BadSize, "a list of the message has more than messages have")
	}
	return nil
}

const (
	// limit: MaxMessage is the most bytes of a message. Chosen: a Server takes 7 KiB, an Incident with its
	// lists 16 KiB, and brokers refuse 1 MiB by default.
	MaxMessage = 64 << 10

	// limit: MaxCounts is the same of a Server and of a Host, which come in each window. Chosen: a Server takes 11 KiB at most.
	MaxCounts = 16 << 10

	// limit: Bounds of lists in messages; what is beyond is dropped, and counted where the message has a count for it.
	MaxKinds    = 64  // kinds of queries of a Server: more than one server is asked
	MaxTop      = 16  // limit: busiest sources and networks
	MaxForms    = 16  // limit: forms of packets
	MaxTargets  = 64  // limit: servers of an incident
	MaxFindings = 256 // limit: kinds of findings at servers, in a window
)
