// Package jsonl renders for programs: each message, finding, dialogue and incident is one
// line of JSON, and the statistics of a capture are one object. Members and their names
// come from the definitions of fields; it names no protocol.
package jsonl

import (
	"net/netip"
	"strconv"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/communityid"
	"qsniff/internal/base/digits"
	"qsniff/internal/base/jsonw"
	"qsniff/internal/render"
	"qsniff/internal/track/fingerprint"
)

const (
	schema   = 1
	protoTCP = 6
	protoUDP = 17
)

// opening begins a line of a message.
var opening = `{"schema":` + strconv.Itoa(schema)

// Options choose what a line holds.
type Options struct {
	Layout      bool // every byte with its field
	ShowSecrets bool
	// Bare is for payloads that came without packets: lines have no time and no addresses.
	Bare bool
}

// Renderer makes lines of JSON.
type Renderer struct {
	opt Options
	mem *memory // nil: nothing is remembered
}

// New returns a renderer.
func New(opt Options) *Renderer { return &Renderer{opt: opt} }

// Append appends e as a line.
func (r *Renderer) Append(dst []byte, e *render.Event) []byte {
	m := e.Msg
	dst = append(dst, opening...)
	if e.Record != "" {
		dst = append(append(append(dst, `,"record":"`...), e.Record...), '"')
	}
	dst = append(dst, `,"frame":`...)
	dst = digits.AppendUint(dst, e.Frame)
	dst = r.appendOrigin(dst, e)
	dst = r.appendHead(dst, e)
	dst = digits.AppendUint(dst, uint64(m.Wire))
	if len(m.Data) < m.Wire {
		dst = append(dst, `,"captured":`...)
		dst = digits.AppendUint(dst, uint64(len(m.Data)))
	}
	dst = appendStop(dst, m)
	if e.WhyIncomplete != "" {
		dst = append(dst, `,"incomplete":"`...)
		dst = append(dst, e.WhyIncomplete...)
		dst = append(dst, '"')
	}
	dst = appendSplit(dst, e.Split)
	if !r.opt.Bare {
		dst = appendExchange(dst, e)
		if s := e.Exchange.Signs; s.IsKnown() { // the names of others are for whole visits
			dst = append(appendClient(append(dst, `,"client":{"name":"`...), s, `","confidence":"`), '}')
		}
	}
	dst = appendWays(dst, e.Ways)
	dst = appendComments(dst, e.Comments)
	dst, _ = r.appendObject(append(dst, `,"fields":`...), m, 0, 0)
	dst = appendFindings(dst, m)
	if r.opt.Layout {
		dst = r.appendLayout(dst, m, e.Pieces)
	}
	return append(dst, '}', '\n')
}

// appendOrigin appends frames, input, time, transport and ends.
func (r *Renderer) appendOrigin(dst []byte, e *render.Event) []byte {
	if len(e.Frames) > 0 {
		dst = appendFrames(append(dst, `,"frames":[`...), e.Frames)
	}
	if e.Train > 0 && !r.opt.Bare {
		dst = digits.AppendMillis(append(dst, `,"frames_ms":`...), e.Train)
	}
	if !r.opt.Bare {
		dst = appendPlace(dst, e)
		dst = append(dst, `,"time":`...)
		dst = r.appendTime(dst, e.Nanos)
	}
	dst = append(append(append(dst, `,"transport":"`...), e.Transport()...), '"')
	if r.opt.Bare {
		return dst
	}
	dst = digits.AppendEnd(append(dst, `,"src":"`...), e.Src)
	dst = digits.AppendEnd(append(dst, `","dst":"`...), e.Dst)
	dst = communityid.Append(append(dst, `","community_id":"`...), e.Src, e.Dst, ipProtoOf(e))
	return append(dst, '"')
}

// appendPlace appends the input and the interface.
func appendPlace(dst []byte, e *render.Event) []byte {
	if e.File >= 0 {
		dst = append(dst, `,"file":`...)
		dst = digits.AppendUint(dst, uint64(e.File))
	}
	if e.Iface >= 0 {
		dst = append(dst, `,"interface":`...)
		dst = digits.AppendUint(dst, uint64(e.Iface))
	}
	if len(e.IfName) > 0 {
		dst = jsonw.Text(append(dst, `,"interface_name":`...), e.IfName)
	}
	return dst
}

// appendFrames appends frame numbers and closes their list.
func appendFrames(dst []byte, frames []uint64) []byte {
	for i, f := range frames {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = digits.AppendUint(dst, f)
	}
	return append(dst, ']')
}

// appendEnd appends an address, and its port where there is one.
func appendEnd(dst []byte, a netip.AddrPort) []byte {
	if a.Port() == 0 {
		return a.Addr().AppendTo(dst)
	}
	return digits.AppendEnd(dst, a)
}

func ipProtoOf(e *render.Event) uint8 {
	if e.TCP {
		return protoTCP
	}
	return protoUDP
}

// appendType ends the string of the protocol, and appends the message type, unless e is a
// record, and the direction.
func appendType(dst []byte, e *render.Event) []byte {
	t := e.Msg.Type
	switch {
	case e.Record != "":
		dst = append(dst, '"')
	case t == nil:
		dst = append(dst, `","message":null`...)
	default:
		dst = append(dst, `","message":"`...)
		dst = append(dst, t.Name...)
		dst = append(dst, '"')
	}
	dst = append(dst, `,"direction":"`...)
	return append(append(dst, e.Direction()...), '"')
}

func appendStop(dst []byte, m *dissect.Message) []byte {
	if m.Stopped == nil {
		return dst
	}
	dst = append(dst, `,"stopped":{"field":"`...)
	dst = append(dst, m.Stopped.Name...)
	dst = append(dst, `","offset":`...)
	dst = digits.AppendUint(dst, uint64(m.StoppedAt))
	return append(dst, '}')
}

func appendSplit(dst []byte, s *render.Split) []byte {
	if s == nil {
		return dst
	}
	dst = append(dst, `,"split":{"engine":"`...)
	dst = append(dst, s.Engine.String()...)
	dst = append(dst, `","id":`...)
	dst = digits.AppendUint(dst, uint64(s.ID))
	dst = append(dst, `,"total":`...)
	dst = digits.AppendUint(dst, uint64(s.Total))
	dst = append(dst, `,"received":`...)
	dst = digits.AppendUint(dst, uint64(s.Received))
	if s.Size > 0 {
		dst = append(dst, `,"size_field":`...)
		dst = digits.AppendUint(dst, uint64(s.Size))
	}
	dst = append(dst, `,"compressed":`...)
	dst = strconv.AppendBool(dst, s.Compressed)
	if s.Packed > 0 {
		dst = digits.AppendUint(append(dst, `,"declared_size":`...), uint64(s.Declared))
		dst = digits.AppendUint(append(dst, `,"crc32":`...), uint64(s.CRC))
	}
	return append(dst, '}')
}

// appendExchange appends the exchange that the message belongs to. Of a reply the request
// and the times are appended where they are known.
func appendExchange(dst []byte, e *render.Event) []byte {
	x := &e.Exchange
	if x.ID == 0 {
		return dst
	}
	dst = digits.AppendUint(append(dst, `,"exchange":{"id":`...), x.ID)
	if e.Reply && x.Request != 0 {
		dst = digits.AppendUint(append(dst, `,"request_frame":`...), x.Request)
		if x.RTT >= 0 {
			dst = digits.AppendMillis(append(dst, `,"rtt_ms":`...), x.RTT)
		}
		if x.ChallengeRTT >= 0 {
			dst = digits.AppendMillis(append(dst, `,"challenge_ms":`...), x.ChallengeRTT)
		}
	}
	return append(dst, '}')
}

// appendClient appends the name of the program that shows signs, which ends the text that dst ends
// in, and if it is known, after key, how sure that is.
func appendClient(dst []byte, s fingerprint.Signs, key string) []byte {
	dst, k := s.AppendName(dst)
	if k != dissect.No {
		dst = append(append(dst, key...), k.String()...)
	}
	return append(dst, '"')
}

func appendFindings(dst []byte, m *dissect.Message) []byte {
	if len(m.Expert) == 0 {
		return dst
	}
	dst = append(dst, `,"findings":[`...)
	for i := range m.Expert {
		e := &m.Expert[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"id":"`...)
		dst = append(dst, e.Code.ID...)
		dst = append(dst, `","severity":"`...)
		dst = append(dst, e.Severity.String()...)
		dst = append(dst, `","fault":"`...)
		dst = append(dst, e.Code.Fault.String()...)
		dst = append(dst, `","text":`...)
		dst = appendText(dst, e, nil)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// appendText appends the finding's sentence and detail as a string. It builds the
// sentence at the end of dst, escapes it after that, and moves the escaped form over the
// sentence: this needs no other buffer.
func appendText(dst []byte, e *finding.Expert, detail []byte) []byte {
	start := len(dst)
	dst = append(e.AppendText(dst), detail...)
	end := len(dst)
	dst, _ = jsonw.String(dst, dst[start:end])
	n := copy(dst[start:], dst[end:])
	return dst[:start+n]
}
