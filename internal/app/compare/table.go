package compare

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"qsniff/dissect"
	"qsniff/internal/render"
)

// key is a type of message, or a question by the type of its first request.
type key struct {
	protocol, name string
	isReply        bool
}

// table is what one side said and was told.
type table struct {
	exchanges uint64
	messages  uint64
	first     int64 // Unix nanoseconds
	last      int64

	questions []*question
	types     []*messageType
	strays    map[dissect.Asked]map[string]uint64 // types of replies without a request, by what they answer
	pushes    map[string]uint64                   // types of messages of servers without a request, in connections
	findings  map[string]*foundBy
	room      int    // for further paths and names
	unkept    uint64 // paths and names that there was no room for
}

// question is what became of requests of one type.
type question struct {
	key
	asks       dissect.Asked // of exchanges; 0 in connections
	asked      uint64
	answered   uint64
	refused    uint64 // a challenge was all that came
	unanswered uint64 // the wait for an answer is over
	late       uint64

	plain, atOnce, challenged uint64 // without a challenge in the first request: all; answered; given a challenge
	again                     uint64 // a challenge was given although the request brought one
	broughtInVain             uint64 // silence followed on the request that brought the challenge
	took, trip                times
	orders                    map[string]uint64 // of replies
}

// decided returns how many exchanges are over.
func (q *question) decided() uint64 { return q.answered + q.refused + q.unanswered + q.late }

// messageType is what messages of one type have.
type messageType struct {
	key
	count     uint64
	status    map[string]uint64 // without those that the capture cut
	cut       uint64
	forms     map[string]uint64 // see turn.form
	least     uint64            // length in bytes
	most      uint64
	datagram  uint64            // the longest
	fragments uint64            // messages of which IP cut a datagram
	paths     map[string]*value // fields, by the names of JSON members
	names     map[string]*value // names in lists of names with values
	findings  map[string]uint64
	wrong     map[string]string // the first finding of a message that is not complete, by status
}

// value is what one field, or one name of a list, has in messages of a type.
type value struct {
	count  uint64 // messages, or entries, that have it
	kind   string // "number"; empty if it has several
	sample string // the first value
	varies bool
	// isDerived is set of what is not on the wire by itself.
	isDerived bool
}

// foundBy is a finding at one side.
type foundBy struct {
	found
	count           uint64
	concernsClients bool // a client has something to do about it
}

// times are lengths of time in nanoseconds.
type times struct{ kept []int64 }

func (t *times) add(nanos int64) {
	if nanos >= 0 && len(t.kept) < maxTimes {
		t.kept = append(t.kept, nanos)
	}
}

// median returns the middle one of the times; -1 if there is none.
func (t *times) median() int64 {
	if len(t.kept) == 0 {
		return -1
	}
	sorted := slices.Sorted(slices.Values(t.kept))
	return sorted[(len(sorted)-1)/2]
}

func newTable() table {
	return table{strays: map[dissect.Asked]map[string]uint64{}, pushes: map[string]uint64{}, findings: map[string]*foundBy{}, room: maxPaths}
}

// addTurn adds a message or a finding.
func (s *table) addTurn(t *turn) {
	for _, f := range t.Findings {
		s.addFinding(f, t)
	}
	if t.flags&isMessage == 0 {
		s.addFinding(t.found, t)
		return
	}
	s.messages++
	m := s.typeOf(t.key())
	if m == nil {
		s.unkept++
		return
	}
	m.count++
	if m.count == 1 {
		m.least = t.Length
	}
	m.least, m.most = min(m.least, t.Length), max(m.most, t.Length)
	n, isCut := t.datagram()
	m.datagram = max(m.datagram, n)
	if isCut {
		m.fragments++
	}
	if t.flags&cutByCapture != 0 {
		m.cut++
	} else {
		m.status[t.Status]++
	}
	if m.forms[t.form()]++; len(m.forms) > maxForms {
		delete(m.forms, t.form())
	}
	for _, f := range t.Findings {
		m.findings[f.ID]++
		if t.Status != "complete" && m.wrong[t.Status] == "" {
			m.wrong[t.Status] = f.Text + " (" + f.ID + ")"
		}
	}
	for _, name := range t.words {
		if name[0] == '-' {
			delete(t.Fields, string(name[1:]))
		}
	}
	s.addFields(m, "", t.Fields)
	for _, name := range t.words {
		if v := m.paths[string(name)]; v != nil {
			v.isDerived = true
		}
	}
}

// addStray counts a reply to a request that was not captured. Types and questions are few: they are those of protocols.
func (s *table) addStray(asks dissect.Asked, name string) {
	if s.strays[asks] == nil {
		s.strays[asks] = map[string]uint64{}
	}
	s.strays[asks][name]++
}

func (s *table) addFinding(f found, t *turn) {
	x := s.findings[f.ID]
	if x == nil {
		x = &foundBy{found: f}
		s.findings[f.ID] = x
	}
	x.count++
	x.concernsClients = x.concernsClients || slices.ContainsFunc(t.words, func(w []byte) bool { return string(w) == "!"+f.ID })
}

// addFields adds the members of an object below a path.
func (s *table) addFields(m *messageType, above string, members map[string]any) {
	for name, v := range members {
		if strings.HasSuffix(name, "_hex") || strings.HasSuffix(name, "_cut") { // of a value that is there, too
			continue
		}
		path := above + name
		s.addValue(&m.paths, path, v)
		switch v := v.(type) {
		case map[string]any:
			s.addFields(m, path+".", v)
		case []any:
			s.addList(m, path, v)
		}
	}
}

// addList adds the elements of a list. Of a list of names with values each name counts, of another one what the
// elements have: once for the list, however many there are.
func (s *table) addList(m *messageType, path string, list []any) {
	seen := map[string]any{}
	for _, x := range list {
		o, ok := x.(map[string]any)
		if !ok {
			continue
		}
		if name, ok := o["name"].(string); ok {
			if v, hasValue := o["value"]; hasValue {
				s.addValue(&m.names, cut(name), v)
				continue
			}
		}
		for name, v := range o {
			if _, ok := seen[name]; !ok {
				seen[name] = v
			}
		}
	}
	s.addFields(m, path+"[].", seen)
}

// addValue counts a value of a path or a name.
func (s *table) addValue(to *map[string]*value, name string, v any) {
	x := (*to)[name]
	kind, sample := kindOf(v)
	switch {
	case x == nil && s.room == 0:
		s.unkept++
		return
	case x == nil:
		s.room--
		x = &value{kind: kind, sample: sample}
		(*to)[name] = x
	}
	x.count++
	x.varies = x.varies || x.sample != sample
	if kind != x.kind && kind != "null" {
		if x.kind == "null" {
			x.kind = kind
		} else {
			x.kind = ""
		}
	}
}

// kindOf returns the kind of a JSON value, and the value as text where it is no object or list.
func kindOf(v any) (kind, sample string) {
	switch v := v.(type) {
	case json.Number:
		return "number", v.String()
	case string:
		return "text", cut(v)
	case bool:
		return "truth", fmt.Sprint(v)
	case []any:
		return "list", ""
	case map[string]any:
		return "object", ""
	}
	return "null", ""
}

// cut returns the start of a text of the network.
func cut(s string) string {
	if len(s) <= maxSample {
		return s
	}
	n := maxSample
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.Clone(s[:n]) + "…"
}

// typeOf returns the type of a message; nil if there are too many.
func (s *table) typeOf(k key) *messageType {
	i, ok := slices.BinarySearchFunc(s.types, k, func(m *messageType, k key) int { return compareKeys(m.key, k) })
	if !ok {
		if len(s.types) == maxTypes {
			return nil
		}
		s.types = slices.Insert(s.types, i, &messageType{key: k, status: map[string]uint64{}, forms: map[string]uint64{},
			paths: map[string]*value{}, names: map[string]*value{}, findings: map[string]uint64{}, wrong: map[string]string{}})
	}
	return s.types[i]
}

func compareKeys(a, b key) int {
	return cmp.Or(cmp.Compare(a.protocol, b.protocol), cmp.Compare(a.name, b.name), cmp.Compare(b2i(a.isReply), b2i(b.isReply)))
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// addCall adds what became of a request in a dialogue.
func (s *table) addCall(x *call, d *render.Dialogue) {
	i := slices.IndexFunc(s.questions, func(q *question) bool { return q.key == x.question })
	if i < 0 {
		if len(s.questions) == maxTypes {
			s.unkept++
			return
		}
		i = len(s.questions)
		s.questions = append(s.questions, &question{key: x.question, orders: map[string]uint64{}})
	}
	q := s.questions[i]
	if q.asked++; !d.IsStream && d.Type != nil {
		q.asks = d.Type.Asks
	}
	switch x.outcome {
	case render.Answered:
		q.answered++
		q.took.add(x.took)
		q.trip.add(x.trip)
	case render.LateAnswer:
		q.late++
		q.took.add(x.took)
	case render.Unanswered:
		q.unanswered++
		if x.bringsToken && x.challenges > 0 {
			q.broughtInVain++
		}
	case render.Challenged:
		q.refused++
	}
	if !x.beginsWithToken {
		q.plain++
		switch {
		case x.challenges > 0:
			q.challenged++
		case x.outcome == render.Answered:
			q.atOnce++
		}
	}
	if x.again {
		q.again++
	}
	if len(x.replies) > 0 {
		var names []string
		for _, r := range x.replies {
			names = append(names, r.String())
		}
		order := strings.Join(names, ", ")
		if q.orders[order]++; len(q.orders) > maxForms {
			delete(q.orders, order)
		}
	}
}

const (
	// limit: maxTypes is how many types of messages, and of questions, each side has: all protocols together have
	// fewer.
	maxTypes = 256
	// limit: maxPaths is how many fields and names in lists each side has, over all types. Chosen: servers have
	// some hundred rules.
	maxPaths = 8192
	// limit: maxSample is how many bytes of a value are kept to show it.
	maxSample = 64
	// limit: maxTimes is how many times of answers are kept for the median: the first ones of each question.
	maxTimes = 1024
	// limit: maxForms is how many orders of replies, and forms of a message, are kept.
	maxForms = 16
)
