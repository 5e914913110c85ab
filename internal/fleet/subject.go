package fleet

import (
	"fmt"
	"strconv"
	"strings"
)

// DefaultPrefix begins the subjects of a fleet that was given no other prefix.
const DefaultPrefix = "qsniff"

// Subject returns the subject of a sensor's messages of a kind: PREFIX.SENSOR.KIND, so that the right
// to publish to PREFIX.SENSOR.> is the right to speak as that sensor only.
func Subject(prefix, sensor string, k Kind) string { return prefix + "." + sensor + "." + string(k) }

// ParseSubject returns which sensor published under a subject, and what.
func ParseSubject(prefix, subject string) (sensor string, k Kind, err error) {
	rest, isOurs := strings.CutPrefix(subject, prefix+".")
	sensor, word, hasKind := strings.Cut(rest, ".")
	if !isOurs || !hasKind {
		return "", "", fmt.Errorf("the subject %.100q is none of %s.SENSOR.KIND", subject, prefix)
	}
	return sensor, Kind(word), CheckName(sensor)
}

// HubName is the name that hubs have among subjects and inboxes, where sensors have theirs. No sensor
// is called so.
const HubName = "_hub"

// InboxPrefix begins the subjects of what a broker answers to a sensor, or with HubName to a hub: acks
// of what it published. Each has its own, so that no sensor has a right to see what others get.
func InboxPrefix(sensor string) string { return "_INBOX." + sensor }

// HeaderSent is the header of messages with the Unix time in nanoseconds at which the sensor published
// them, by its own clock: together with the broker's time it shows how far that clock is off.
const HeaderSent = "Qsniff-Sent"

// MessageID returns an id that no other message has: brokers drop a second one with the same.
func (h *Head) MessageID() string {
	return h.Sensor + "/" + h.Run + "/" + strconv.FormatUint(h.Seq, 10)
}

// CheckName returns an error if a sensor cannot have that name: it is a word of a subject.
func CheckName(name string) error {
	isWord := name != "" && len(name) <= MaxName && name != HubName
	for i := range len(name) {
		c := name[i]
		isWord = isWord && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_')
	}
	if !isWord {
		return fmt.Errorf("%.100q: the name of a sensor is 1 to %d letters, digits, - and _, and not %s", name, MaxName, HubName)
	}
	return nil
}

// NameOf makes a name of a sensor of the name of a host.
func NameOf(host string) string {
	word := strings.Map(func(r rune) rune {
		if r < 0x80 && CheckName(string(r)) == nil {
			return r
		}
		return '-'
	}, host)
	return word[:min(len(word), MaxName)]
}
