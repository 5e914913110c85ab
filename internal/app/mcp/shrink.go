package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"qsniff/internal/base/jsonw"
)

// shrink returns a record cut to at most room bytes: long texts and lists lose their ends, and
// a member cut_from_bytes says how large the record was.
func shrink(record []byte, room int) []byte {
	for _, c := range cuts {
		cut, err := shortened(record, c.text, c.list)
		if err == nil && len(cut) <= room {
			return cut
		}
	}
	return fmt.Appendf(nil, `{"cut_from_bytes":%d}`, len(record))
}

// shortened returns a record with texts of at most text bytes and lists of at most list
// elements.
func shortened(record []byte, text, list int) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(record))
	d.UseNumber()
	s := shortener{d: d, text: text, list: list}
	out, err := s.value(nil, true)
	if err == nil && len(out) > 1 && out[len(out)-1] == '}' {
		out = out[:len(out)-1]
		if out[len(out)-1] != '{' {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, `"cut_from_bytes":%d}`, len(record))
	}
	return out, err
}

// shortener copies JSON, in the order of its members.
type shortener struct {
	d          *json.Decoder
	text, list int
}

// value copies the next value to dst, or passes over it unless isKept.
func (s *shortener) value(dst []byte, isKept bool) ([]byte, error) {
	t, err := s.d.Token()
	if err != nil {
		return dst, err
	}
	var one []byte
	switch t := t.(type) {
	case json.Delim:
		return s.members(dst, t, isKept)
	case string:
		if len(t) > s.text {
			n := s.text
			for n > 0 && !utf8.RuneStart(t[n]) {
				n--
			}
			t = fmt.Sprintf("%s… (%d bytes)", t[:n], len(t))
		}
		one, err = encode(t)
	default:
		one, err = encode(t)
	}
	if isKept {
		dst = append(dst, one...)
	}
	return dst, err
}

// members copies what an array or an object has, after its bracket open.
func (s *shortener) members(dst []byte, open json.Delim, isKept bool) ([]byte, error) {
	start := len(dst)
	dst = append(dst, byte(open))
	for i := 0; s.d.More(); i++ {
		keeps := isKept && (open == '{' || i < s.list)
		if keeps && i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if open == '{' {
			if dst, err = s.value(dst, keeps); err != nil {
				return dst, err
			}
			if keeps {
				dst = append(dst, ':')
			}
		}
		if dst, err = s.value(dst, keeps); err != nil {
			return dst, err
		}
	}
	end, err := s.d.Token()
	if err != nil {
		return dst, err
	}
	if !isKept {
		return dst[:start], nil
	}
	return append(dst, byte(end.(json.Delim))), nil
}

// without returns an object without some of its members; what is no object stays as it is.
func without(record []byte, names ...string) []byte {
	d := json.NewDecoder(bytes.NewReader(record))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return record
	}
	out := []byte{'{'}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return record
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return record
		}
		name, _ := key.(string)
		if slices.Contains(names, name) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(jsonw.Text(out, name), ':'), value...)
	}
	return append(out, '}')
}
