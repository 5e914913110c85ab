package compare

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"qsniff/internal/base/digits"
	"qsniff/internal/render"
)

// compareTypes compares the messages of each type that both sides have.
func (f *finder) compareTypes() {
	for _, a := range f.tables[0].types {
		b := findType(f.tables[1], a.key)
		if b == nil {
			continue
		}
		both := [2]*messageType{a, b}
		if !a.isReply && !f.verbs.ofClients { // who asks two servers asks them in different ways
			continue
		}
		f.compareForms(&both)
		f.compareStatus(&both)
		f.compareFields(&both)
		f.compareNames(&both)
		f.compareSizes(&both)
		f.compareValues(&both)
	}
}

// findType returns messages of a type; in another protocol, where the engines of both sides are of one family and name
// their messages alike, if there are none of the same.
func findType(t *table, k key) *messageType {
	var alike *messageType
	for _, m := range t.types {
		switch {
		case m.key == k:
			return m
		case m.name == k.name && m.isReply == k.isReply:
			alike = m
		}
	}
	return alike
}

// compareForms finds messages that one side has in parts, or compressed.
func (f *finder) compareForms(m *[2]*messageType) {
	f.compared[render.PartAspect] = true
	a, b := formsOf(m[0]), formsOf(m[1])
	if a == b {
		return
	}
	failsAt := atEither
	if m[0].forms[plainForm] == m[0].count {
		failsAt = atB
	} else if m[1].forms[plainForm] == m[1].count {
		failsAt = atA
	}
	f.add(render.PartAspect, failsAt, m[0].key, "sent in", [2]string{a, b}, "%s %s %s in %s, %s in %s: a client that reads only one of these forms gets nothing from the other", f.labels[0], f.verbs.sends, m[0].name, a, f.labels[1], b)
}

// formsOf lists the forms of a message's type.
func formsOf(m *messageType) string {
	return strings.Join(slices.Sorted(maps.Keys(m.forms)), " or ")
}

// compareStatus finds messages that are not complete.
func (f *finder) compareStatus(m *[2]*messageType) {
	f.compared[render.StatusAspect] = true
	for i, x := range m {
		if y := m[1-i]; x.cut > 0 && y.cut == 0 {
			cells := [2]string{"none", "none"}
			cells[i] = fmt.Sprintf("%s of %s", grouped(x.cut), grouped(x.count))
			f.unequal[render.StatusAspect] = true
			f.add(render.NoteAspect, i, x.key, "cut by the capture", cells, "the capture has not all of %s of %s in %s, of %s always: what lacks there says nothing of the server", x.name, f.labels[i], cells[i], f.labels[1-i])
		}
	}
	for _, status := range [...]string{"malformed", "fragment", "truncated"} {
		for i, x := range m {
			y := m[1-i]
			if x.status[status] == 0 || y.status[status] > 0 {
				continue
			}
			cells := [2]string{"none", "none"}
			cells[i] = fmt.Sprintf("%s of %s", grouped(x.status[status]), grouped(x.count))
			why := ""
			if x.wrong[status] != "" && status == "malformed" { // what else was found is no reason for a part that is missing
				why = ": " + x.wrong[status]
			}
			words := map[string]string{"fragment": "came without all of its parts", "truncated": "did not come whole", "malformed": "is malformed"}[status]
			aspect := render.StatusAspect
			if x.status[status] == x.count { // as good as no answer
				aspect = render.AnswerAspect
			}
			f.add(aspect, i, x.key, status, cells, "%s of %s %s in %s, of %s never%s", x.name, f.labels[i], words, cells[i], f.labels[1-i], why)
		}
	}
}

// compareFields finds fields that one side lacks, or has as another kind.
func (f *finder) compareFields(m *[2]*messageType) {
	aspect := render.FieldAspect
	if !m[0].isReply {
		aspect = render.RequestAspect
	}
	for i, x := range m {
		if x.status["complete"]+x.status["malformed"] == 0 {
			f.uncompared = append(f.uncompared, fmt.Sprintf("fields of %s: none of %s came whole", x.name, f.labels[i]))
			return
		}
	}
	f.compared[aspect] = true
	var lacks, sometimes, derived [2][]string
	var kinds []string
	var empty [2][]string
	for i, x := range m {
		y := m[1-i]
		for _, path := range slices.Sorted(maps.Keys(x.paths)) {
			v, w := x.paths[path], y.paths[path]
			list, isElement := above(path, "[].")
			object, isMember := above(path, ".")
			switch {
			case isElement && !hasElements(y, list):
				if y.count >= fewAsked && y.cut == 0 && !slices.Contains(empty[i], list) && y.paths[list] != nil {
					empty[i] = append(empty[i], list)
				}
			case !isElement && isMember && y.paths[object] == nil: // above it is what is missing
			case w == nil && v.isDerived && v.count < x.count: // it tells of the message's place
			case w == nil && !isElement && (isMember || v.isDerived):
				derived[i] = append(derived[i], path)
			case w == nil:
				lacks[i] = append(lacks[i], path)
			case !isMember && !v.isDerived && v.count == x.count && w.count < y.count && y.status["complete"] == y.count:
				sometimes[i] = append(sometimes[i], path)
			case i == 0 && v.kind != w.kind:
				kinds = append(kinds, fmt.Sprintf("%s (%s, %s)", path, kindName(v.kind), kindName(w.kind)))
			}
		}
	}
	for i, x := range m {
		fails := fmt.Sprintf("a client that reads it without asking whether it is there fails at %s", f.labels[1-i])
		if i == atB { // who compares wants to know what fails at B
			fails = fmt.Sprintf("a client that knows only the form of %s fails at %s", f.labels[0], f.labels[1])
		}
		f.addLacks(aspect, x.key, i, lacks[i], "fields", "%s of %s has no %s, that of %s has: "+fails)
		f.addLacks(render.PartlyAspect, x.key, i, sometimes[i], "always there", "%s of %s has not always %s, that of %s has")
		f.addLacks(render.NoteAspect, x.key, i, empty[i], "entries", "%s of %s never has an entry of %s, that of %s has")
		f.addLacks(render.NameAspect, x.key, i, derived[i], "members", "%s of %s has no %s, that of %s has")
	}
	if len(kinds) > 0 {
		f.add(aspect, atEither, m[0].key, "kinds", [2]string{listed(kinds), ""}, "%s has values of other kinds at %s and at %s: %s", m[0].name, f.labels[0], f.labels[1], listed(kinds))
	}
}

// addLacks adds a difference for fields that side i has and the other one lacks.
func (f *finder) addLacks(a render.Aspect, k key, i int, fields []string, what, sentence string) {
	if len(fields) == 0 {
		return
	}
	cells := [2]string{"-", "-"}
	cells[i] = listed(fields)
	f.add(a, atEither, k, what, cells, sentence, k.name, f.labels[1-i], listed(fields), f.labels[i]).Fields = fields
}

// above returns what precedes the last separator in a path.
func above(path, separator string) (before string, ok bool) {
	i := strings.LastIndex(path, separator)
	if i < 0 {
		return "", false
	}
	return path[:i], true
}

// hasElements reports whether a list has members in messages of m.
func hasElements(m *messageType, list string) bool {
	for path := range m.paths {
		if strings.HasPrefix(path, list+"[].") {
			return true
		}
	}
	return false
}

func kindName(kind string) string {
	switch kind {
	case "":
		return "several"
	case "null":
		return "no value"
	}
	return kind
}

// listed joins names, and counts those that there is no room for.
func listed(names []string) string {
	const most = 4 // chosen: a cell of a table
	if len(names) > most {
		return strings.Join(names[:most-1], ", ") + fmt.Sprintf(" and %d more", len(names)-most+1)
	}
	return strings.Join(names, ", ")
}

// compareNames finds names in lists of names with values that one side lacks.
func (f *finder) compareNames(m *[2]*messageType) {
	if len(m[0].names)+len(m[1].names) == 0 {
		return
	}
	f.compared[render.NameAspect] = true
	var only [2][]string
	for i, x := range m {
		for _, name := range slices.Sorted(maps.Keys(x.names)) {
			if m[1-i].names[name] == nil {
				only[i] = append(only[i], name)
			}
		}
	}
	if len(only[0])+len(only[1]) == 0 {
		return
	}
	for i, x := range m {
		if y := m[1-i]; len(x.names) == 0 && x.cut+x.status["malformed"]+x.status["fragment"] == 0 {
			var cells [2]string
			cells[i], cells[1-i] = "empty", digits.Counted(uint64(len(y.names)), "name")
			f.add(render.PartlyAspect, i, x.key, "list", cells, "%s of %s has an empty list, that of %s %s: a client that takes that for an error fails at %s", x.name, f.labels[i], f.labels[1-i], cells[1-i], f.labels[i])
			return
		}
	}
	cells := [2]string{}
	for i := range only {
		cells[i] = fmt.Sprintf("%d: %s", len(only[i]), listed(only[i]))
		if len(only[i]) == 0 {
			cells[i] = "-"
		}
	}
	d := f.add(render.NameAspect, atEither, m[0].key, "names of one only", cells, "%s has %s of %s only, and %s of %s only", m[0].name,
		digits.Counted(uint64(len(only[0])), "name"), f.labels[0], digits.Counted(uint64(len(only[1])), "name"), f.labels[1])
	d.Only = only
}

// compareSizes finds messages whose datagrams IP cuts, and that are longer.
func (f *finder) compareSizes(m *[2]*messageType) {
	f.compared[render.SizeAspect] = true
	for i, x := range m {
		y := m[1-i]
		if x.fragments > 0 && y.fragments == 0 {
			cells := [2]string{}
			cells[i], cells[1-i] = size(x.datagram)+", in IP fragments", size(y.datagram)
			f.add(render.SizeAspect, i, x.key, "longest datagram", cells, "%s of %s comes in datagrams of up to %s, which IP cuts, of %s up to %s: where a firewall or NAT drops fragments, or a client reads into less, nothing arrives",
				x.name, f.labels[i], size(x.datagram), f.labels[1-i], size(y.datagram))
			return
		}
	}
	for _, room := range [...]uint64{4096, math.MaxUint16} {
		for i, x := range m {
			if y := m[1-i]; x.most > room && y.most <= room {
				var cells [2]string
				cells[i], cells[1-i] = size(x.most), size(y.most)
				f.add(render.SizeAspect, i, x.key, "longest", cells, "%s of %s has up to %s, of %s up to %s: a client that has room for %s loses the rest", x.name, f.labels[i], size(x.most), f.labels[1-i], size(y.most), size(room))
				return
			}
		}
	}
	if a, b := m[0], m[1]; a.least > b.most*3/2 || b.least > a.most*3/2 {
		f.add(render.LengthAspect, atEither, a.key, "length", [2]string{extent(a), extent(b)}, "%s has %s at %s, %s at %s", a.name, extent(a), f.labels[0], extent(b), f.labels[1])
	}
}

func size(n uint64) string { return digits.Counted(n, "byte") }

// extent is the lengths of messages.
func extent(m *messageType) string {
	if m.least == m.most {
		return size(m.least)
	}
	return fmt.Sprintf("%s to %s", grouped(m.least), size(m.most))
}

// compareValues finds values that never vary at either side, and are not the same at both.
func (f *finder) compareValues(m *[2]*messageType) {
	for _, values := range [...][2]map[string]*value{{m[0].paths, m[1].paths}, {m[0].names, m[1].names}} {
		for _, path := range slices.Sorted(maps.Keys(values[0])) {
			v, w := values[0][path], values[1][path]
			if w == nil || v.varies || w.varies || v.sample == w.sample {
				continue
			}
			f.add(render.ValueAspect, atEither, m[0].key, path, [2]string{v.sample, w.sample}, "%s of %s has %s = %q, that of %s %q", m[0].name, f.labels[0], path, v.sample, f.labels[1], w.sample)
		}
	}
}
