package outbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"

	"qsniff/internal/fleet"
)

// Message is one on its way to the broker.
type Message struct {
	Kind fleet.Kind
	ID   string // by fleet.Head.MessageID
	Line []byte // by fleet.Encode
}

// check returns an error if m cannot be of that sensor.
func (m *Message) check(sensor string) error {
	words := strings.Split(m.ID, "/")
	if len(words) != 3 || len(m.ID) > maxWord || words[1] == "" {
		return errors.New("a message without a number")
	}
	seq, err := strconv.ParseUint(words[2], 10, 64)
	switch {
	case err != nil || seq == 0:
		return errors.New("a message without a number")
	case words[0] != sensor:
		return fmt.Errorf("a message of %.100q", words[0])
	case !slices.Contains(fleet.Kinds, m.Kind):
		return fmt.Errorf("a message of the kind %.32q", m.Kind)
	case len(m.Line) == 0 || len(m.Line) > fleet.MaxMessage:
		return fmt.Errorf("a message of %d bytes", len(m.Line))
	}
	return nil
}

// cost returns how many bytes m takes in memory.
func (m *Message) cost() int { return recordCost + len(m.ID) + len(m.Line) }

// A file of the spool is its magic and records: a byte of state, the length and the CRC-32C of what
// follows, in little endian, then the kind and the number, each after a byte with its length, and
// the line. The state is changed in place, so that a disk that is full can take it.
const (
	magic      = "qsniffq1"
	recordHead = 9

	stateWaiting = 1
	stateDone    = 2 // acknowledged, or dropped
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendRecord appends m as a record that waits.
func appendRecord(b []byte, m *Message) []byte {
	at := len(b)
	b = append(b, stateWaiting, 0, 0, 0, 0, 0, 0, 0, 0)
	b = append(append(b, byte(len(m.Kind))), m.Kind...)
	b = append(append(b, byte(len(m.ID))), m.ID...)
	b = append(b, m.Line...)
	body := b[at+recordHead:]
	binary.LittleEndian.PutUint32(b[at+1:], uint32(len(body)))
	binary.LittleEndian.PutUint32(b[at+5:], crc32.Checksum(body, castagnoli))
	return b
}

// errNoRecord is that a file does not go on with a record.
var errNoRecord = errors.New("no record")

// recordLength returns the length of the record that begins with head, which has recordHead bytes.
func recordLength(head []byte) (int, error) {
	n := int64(binary.LittleEndian.Uint32(head[1:])) + recordHead
	if state := head[0]; n > maxRecord || state != stateWaiting && state != stateDone {
		return 0, errNoRecord
	}
	return int(n), nil
}

// parseRecord reads the record that b begins with. The message is a part of b.
func parseRecord(b []byte) (m Message, state byte, length int, err error) {
	if len(b) < recordHead {
		return m, 0, 0, errNoRecord
	}
	length, err = recordLength(b)
	if err != nil || length > len(b) {
		return m, 0, 0, errNoRecord
	}
	body := b[recordHead:length]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(b[5:]) {
		return m, 0, 0, errNoRecord
	}
	kind, body, isKind := cutWord(body)
	id, line, isID := cutWord(body)
	if !isKind || !isID {
		return m, 0, 0, errNoRecord
	}
	return Message{fleet.Kind(kind), string(id), line}, b[0], length, nil
}

// cutWord returns the word that b begins with, after its length, and what follows it.
func cutWord(b []byte) (word, rest []byte, ok bool) {
	if len(b) == 0 || len(b) <= int(b[0]) {
		return nil, nil, false
	}
	return b[1 : 1+b[0]], b[1+b[0]:], true
}

// scan calls visit with each record of a file and where it begins. It returns where the last one ends,
// and errNoRecord if something else follows.
func scan(file []byte, visit func(m *Message, state byte, at, length int)) (end int, err error) {
	if !strings.HasPrefix(string(file[:min(len(file), len(magic))]), magic) {
		return 0, errNoRecord
	}
	for end = len(magic); end < len(file); {
		m, state, length, err := parseRecord(file[end:])
		if err != nil {
			return end, err
		}
		visit(&m, state, end, length)
		end += length
	}
	return end, nil
}
