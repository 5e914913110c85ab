package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/render"
)

// turn is a message or a finding as it comes out of a dialogue: the members of its JSON that are compared.
type turn struct {
	flags turnFlags
	words [][]byte // members of Fields that are not on the wire by themselves, and "!" with ids of findings that concern clients

	Record    string   `json:"record"`
	Protocol  string   `json:"protocol"`
	Message   *string  `json:"message"` // nil if unknown
	Transport string   `json:"transport"`
	Status    string   `json:"status"`
	Length    uint64   `json:"length"`
	Frames    []uint64 `json:"frames"`
	Split     *struct {
		Engine     string `json:"engine"`
		Total      uint64 `json:"total"`
		Received   uint64 `json:"received"`
		SizeField  uint64 `json:"size_field"`
		Compressed bool   `json:"compressed"`
	} `json:"split"`
	Exchange struct {
		ID  uint64   `json:"id"`
		RTT *float64 `json:"rtt_ms"`
	} `json:"exchange"`
	Findings []found        `json:"findings"`
	Fields   map[string]any `json:"fields"`
	found                   // of a record
}

// found is a finding.
type found struct {
	ID       string `json:"id"`
	Severity string `json:"severity"`
	Fault    string `json:"fault"`
	Text     string `json:"text"`
}

// turnFlags precede the JSON of a message, for what JSON does not have.
type turnFlags byte

const (
	isMessage    turnFlags = 1 << iota // else it is a finding, or nothing that is compared
	isReply                            // sent by the server
	bringsToken                        // a request that brings a challenge
	isChallenge                        // a reply in place of an answer
	ofOtherHosts                       // of hosts that are not compared: it has no JSON
	isOfSeveral                        // the protocol itself spreads it over several datagrams
	isUnasked                          // the server sends it by itself
	cutByCapture                       // the capture has not all of it
)

// Append implements render.Renderer. What it appends is read by newTurn: secrets are hidden in it, as wherever
// messages become JSON.
func (c *Collector) Append(dst []byte, e *render.Event) []byte {
	if e.Record != "" { // joined from messages, which are turns
		return dst
	}
	server, client := e.Dst, e.Src
	if e.Reply {
		server, client = client, server
	}
	if !c.sides.mayHave(server, client) {
		return append(dst, byte(ofOtherHosts))
	}
	flags := isMessage
	switch {
	case e.Reply && e.Exchange.Verb == "challenges":
		flags |= isReply | isChallenge
	case e.Reply:
		flags |= isReply
		if e.Msg.Unasked {
			flags |= isUnasked
		}
	case e.Msg.Key != 0 && e.Msg.Type != nil && e.Msg.Type.Token != nil:
		flags |= bringsToken
	}
	if e.JoinedFrom != "" {
		flags |= isOfSeveral
	}
	if e.Msg.Status == dissect.Truncated && e.WhyIncomplete != render.ClosedWithin && e.WhyIncomplete != render.ResetWithin {
		flags |= cutByCapture
	}
	dst = appendDerived(append(dst, byte(flags)), e.Msg)
	for i := range e.Msg.Expert {
		dst = appendTolerable(dst, &e.Msg.Expert[i])
	}
	return c.json.Append(append(dst, '\n'), e)
}

// appendTolerable appends the id of a finding for which a client has something to do.
func appendTolerable(dst []byte, x *finding.Expert) []byte {
	if strings.HasPrefix(x.Code.Client, "nothing") {
		return dst
	}
	return append(append(append(dst, '!'), x.Code.ID...), ' ')
}

// appendDerived appends the JSON names of fields that are not on the wire by themselves: what is decoded from the
// bytes of other fields, and with a minus sign what is computed.
func appendDerived(dst []byte, m *dissect.Message) []byte {
	for i := range m.Fields {
		f := &m.Fields[i]
		if f.Depth > 0 || f.Flags&(dissect.Aux|dissect.Generated) == 0 || f.Def.Flags&dissect.Framing != 0 {
			continue
		}
		if f.Flags&dissect.Aux == 0 {
			dst = append(dst, '-')
		}
		dst = append(append(dst, f.Def.Key()...), ' ')
	}
	return dst
}

// AppendRecord implements render.Renderer.
func (c *Collector) AppendRecord(dst []byte, r *render.Record) []byte {
	if r.Server.IsValid() && !c.sides.mayHave(r.Server, r.Client) {
		return append(dst, byte(ofOtherHosts))
	}
	return c.json.AppendRecord(append(appendTolerable(append(dst, 0), r.Expert), '\n'), r)
}

// AppendDialogue implements render.DialogueRenderer. It appends nothing.
func (c *Collector) AppendDialogue(dst []byte, d *render.Dialogue) []byte {
	i := c.sides.of(d)
	if i < 0 {
		c.countOther(d)
		return dst
	}
	s := &c.tables[i]
	if s.exchanges == 0 {
		s.first = d.First
	}
	s.exchanges++
	s.last = max(s.last, d.Last)
	calls := map[uint64]*call{}
	var order []*call
	for k := range d.Turns {
		t, ok := newTurn(d.Turns[k].Text)
		if !ok {
			continue
		}
		s.addTurn(t)
		if t.flags&isMessage == 0 {
			continue
		}
		id := d.ID
		if d.IsStream {
			id = t.Exchange.ID
		}
		if t.flags&isUnasked != 0 {
			s.pushes[t.key().name]++
		}
		if calls[id] == nil {
			calls[id] = &call{question: t.key(), beginsWithRequest: t.flags&isReply == 0, beginsWithToken: t.flags&bringsToken != 0}
			order = append(order, calls[id])
		}
		calls[id].add(t)
	}
	if d.Outcome == render.Unsolicited && d.Type != nil && d.Type.Asks != 0 && len(order) > 0 {
		s.addStray(d.Type.Asks, order[0].question.name)
	}
	for _, x := range order {
		if !d.IsStream {
			x.outcome, x.took, x.trip = d.Outcome, d.RTT, d.ChallengeRTT
		}
		if x.beginsWithRequest && !d.HasEarlier {
			s.addCall(x, d)
		}
	}
	return dst
}

// newTurn reads what Append or AppendRecord made. ok is false of what is not compared.
func newTurn(text []byte) (t *turn, ok bool) {
	if len(text) < 2 || turnFlags(text[0])&ofOtherHosts != 0 {
		return nil, false
	}
	words, object, ok := bytes.Cut(text[1:], []byte("\n"))
	t = &turn{flags: turnFlags(text[0]), words: bytes.Fields(words)}
	d := json.NewDecoder(bytes.NewReader(object))
	d.UseNumber() // numbers of 64 bits stay what they are
	if err := d.Decode(t); err != nil || !ok {
		return nil, false
	}
	return t, t.flags&isMessage != 0 || t.Record == "finding"
}

// key is what a message is counted under.
func (t *turn) key() key {
	name := "unknown message"
	if t.Message != nil {
		name = *t.Message
	} else if t.Status == "fragment" {
		name = withoutParts
	}
	return key{t.Protocol, name, t.flags&isReply != 0}
}

// withoutParts is the name of a message whose type is in a part that did not come.
const withoutParts = "a message without all of its parts"

// plainForm is the form that each client reads.
const plainForm = "one datagram"

// form is how a message came: in one datagram, or in the parts of an engine.
func (t *turn) form() string {
	switch {
	case t.Transport == "tcp":
		return "a stream"
	case t.flags&isOfSeveral != 0:
		return "several datagrams"
	case t.Split == nil:
		return plainForm
	}
	form := "parts (" + t.Split.Engine
	if t.Split.Compressed {
		form = "compressed " + form
	}
	if t.Split.SizeField != 0 {
		form += ", with a size field"
	}
	return form + ")"
}

// datagram returns about how long the longest datagram of a message is, and whether IP cut it.
func (t *turn) datagram() (n uint64, isCut bool) {
	n, parts := t.Length, 1
	if t.flags&isOfSeveral != 0 {
		parts = max(len(t.Frames), 1)
		n = (t.Length + uint64(parts) - 1) / uint64(parts)
	}
	if s := t.Split; s != nil {
		parts = max(int(s.Received), 1)
		n = max(s.SizeField, (t.Length+uint64(parts)-1)/uint64(parts))
	}
	return n, t.Transport != "tcp" && len(t.Frames) > parts
}

// call is a request with what came of it.
type call struct {
	question          key
	beginsWithRequest bool
	beginsWithToken   bool
	bringsToken       bool // one of its requests does
	again             bool // a challenge followed on the request that brought one back
	challenges        int
	outcome           render.Outcome
	took, trip        int64 // -1: unknown
	replies           []replyRun
}

// add adds a message to a call. The outcome is that of a call in a connection: of an exchange, its dialogue has it.
func (x *call) add(t *turn) {
	switch {
	case t.flags&isChallenge != 0:
		x.challenges++
		x.again = x.again || x.bringsToken && !x.beginsWithToken
	case t.flags&isReply == 0:
		x.bringsToken = x.bringsToken || t.flags&bringsToken != 0
	default:
		if x.outcome != render.Answered {
			x.outcome, x.took, x.trip = render.Answered, -1, -1
			if t.Exchange.RTT != nil {
				x.took = int64(*t.Exchange.RTT * 1e6)
			}
		}
		name := t.key().name
		if n := len(x.replies); n > 0 && (x.replies[n-1].name == name || n == maxReplies) {
			x.replies[n-1].count++
			return
		}
		x.replies = append(x.replies, replyRun{name, 1})
	}
}

// replyRun is replies of one type in a row.
type replyRun struct {
	name  string
	count int
}

func (r replyRun) String() string {
	if r.count == 1 {
		return r.name
	}
	return fmt.Sprintf("%d %s", r.count, r.name)
}

// limit: maxReplies is how many runs of replies of one exchange have a place in the order that is compared. Chosen:
// servers answer in one, two or three formats.
const maxReplies = 8
