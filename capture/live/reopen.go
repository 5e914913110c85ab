package live

import (
	"errors"
	"net"
	"time"
)

// Reopen has a capture go on when an interface goes down, is renamed or is deleted: Read returns empty batches, or the
// packets of the other interfaces, until an interface of that name is up again. The backend AFPacket needs no right for
// that. Libpcap needs the right to capture once more if the interface was deleted or renamed; without it the capture
// ends then, so that a manager of services starts the program again.
type Reopen struct {
	Clock  func() int64 // of a monotonic clock, in nanoseconds
	Report func(Change) // Read calls it once when an interface goes, and once when it is back
}

// Change is that an interface went, or is captured on again.
type Change struct {
	Interface string // as it is in Options
	Now       string // its name, where that is another one; an interface that is back may have been renamed
	Err       error  // why it went, an *Error; nil: it is back
}

// presence is whether an interface is there, of a capture with Reopen.
type presence struct {
	isAway bool
	since  int64         // Reopen.Clock when it went or came back
	next   int64         // Reopen.Clock of the next attempt
	pause  time.Duration // between the last attempt and the next one
}

// leave records that an interface went, for err. It returns false if the capture ends for that.
func (s *Source) leave(in *input, err error) bool {
	var gone *Error
	if s.reopen == nil || !errors.As(err, &gone) || !errors.Is(err, ErrDown) && !errors.Is(err, ErrVanished) {
		return false
	}
	if in.isAway {
		return true
	}
	now := s.reopen.Clock()
	if in.pause == 0 || now-in.since > int64(reopenCalm) {
		in.pause = reopenFirst
	}
	in.isAway, in.since, in.next = true, now, now+int64(in.pause)
	s.interruptions.Add(1)
	s.away.Add(1)
	s.reopen.Report(Change{Interface: in.name, Err: err})
	return true
}

// reopenInputs looks for the interfaces that went, once it is time for that. The error is why the capture ends.
func (s *Source) reopenInputs() error {
	if s.away.Load() == 0 {
		return nil
	}
	now := s.reopen.Clock()
	for _, in := range s.inputs {
		if !in.isAway || now < in.next {
			continue
		}
		in.pause = min(2*in.pause, reopenMost)
		in.next = now + int64(in.pause)
		at, err := s.locate(in.target)
		if err == nil {
			err = in.rebind(at)
		}
		switch {
		case err == nil:
			s.returned(in, at, now)
		case errors.Is(err, ErrDown), errors.Is(err, ErrVanished), errors.Is(err, ErrNoInterface):
		default:
			return err
		}
	}
	return nil
}

// returned records that an interface is captured on again, which is at now.
func (s *Source) returned(in *input, at target, now int64) {
	if at.index != in.index { // the counts of another device begin anew
		in.cardBefore += in.card.countMissed()
		in.card.close()
		in.card = card{}
		in.card.open(at)
	}
	change := Change{Interface: in.name}
	if at.name != in.name {
		change.Now = at.name
	}
	at.name = in.name
	in.target, in.isAway, in.since = at, false, now
	s.away.Add(-1)
	s.reopen.Report(change)
}

// isAlone reports whether all interfaces went: then no read waits for packets.
func (s *Source) isAlone() bool { return int(s.away.Load()) == len(s.inputs) }

// Interruptions returns how many interfaces the capture waits for, and how often one went since the start.
func (s *Source) Interruptions() (away int, all uint64) {
	return int(s.away.Load()), s.interruptions.Load()
}

// locate returns the interface that has the name of at now and is up, else the same device under another name.
func locate(at target) (target, error) {
	now, err := findTarget(at.name)
	if err == nil {
		return now, nil
	}
	f, byIndex := net.InterfaceByIndex(at.index)
	if byIndex != nil || f.Flags&net.FlagUp == 0 {
		return target{}, err
	}
	return targetOf(f), nil
}

// linkError is about an interface that came back as a device of another kind: captures and filters are made for one.
func linkError(name string) *Error {
	return &Error{Interface: name, Reason: "came back with another link type", Hint: "start again"}
}
