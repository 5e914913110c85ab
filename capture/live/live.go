// Package live captures packets on network interfaces: it opens them, keeps what a
// filter lets pass, and delivers packets as a capture.Source. It does not decode,
// write files or drop privileges, and it never sends.
//
// There are two backends. libpcap, opened through gopacket, knows the filter
// language of tcpdump; it is there in builds with cgo. AF_PACKET is the kernel's own
// ring of blocks (TPACKET_V3), read without any library; it is there on Linux. Both
// deliver the same packets.
package live

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"qsniff/capture"
)

// Any is the name that stands for all interfaces, also those that come later.
const Any = "any"

// Backend is how packets are got from the system.
type Backend uint8

// The backends.
const (
	Auto     Backend = iota // Libpcap where the build has it, else AFPacket
	Libpcap                 // libpcap, through gopacket
	AFPacket                // the kernel's ring, Linux only
)

var backendNames = [...]string{Auto: "auto", Libpcap: "libpcap", AFPacket: "afpacket"}

// String is the name that ParseBackend reads.
func (b Backend) String() string { return backendNames[b] }

// ParseBackend reads "auto", "libpcap" or "afpacket".
func ParseBackend(s string) (Backend, error) {
	for b, name := range backendNames {
		if s == name {
			return Backend(b), nil
		}
	}
	return Auto, fmt.Errorf("backend %q: there are %s", s, strings.Join(backendNames[:], ", "))
}

// Options say what to capture. The zero value of every option but Interfaces is a
// good one.
type Options struct {
	// Interfaces are names as Interfaces lists them, or Any alone. With Any the name
	// of the interface is in no place but the header before each packet, and of a
	// packet with two VLAN tags Linux keeps the inner one's type to itself, so that it
	// cannot be decoded: capture on the interface then. libpcap leaves the tags out.
	Interfaces []string

	// Filter is what to keep, in the language of tcpdump (man 7 pcap-filter); ""
	// keeps everything. It takes libpcap.
	Filter string

	// AutoFilter, if set, has the kernel keep only what may be a query. It takes the
	// place of Filter.
	AutoFilter *AutoFilter

	// Snap is the most bytes kept of a packet, 0 for whole packets. The header that
	// Any puts before them counts.
	Snap int

	// Buffer is how many bytes of captured packets wait in the kernel for each
	// interface while the program is busy, 0 for DefaultBuffer. It is rounded to blocks
	// of 512 KiB, two at least.
	Buffer int

	// Delay is how long the kernel may hold back a packet to deliver several at once,
	// 0 for DefaultDelay. It is rounded to milliseconds.
	Delay time.Duration

	// Promiscuous asks interfaces for packets that are meant for other hosts.
	Promiscuous bool

	Backend Backend
}

// Open begins to capture. It takes the right to open packet sockets; nothing that
// happens afterwards does, so privileges can be dropped after it. Errors about an
// interface, a filter or a missing right are of type *Error.
//
// Packets of several interfaces are ordered by time within what one Read delivers;
// Packet.Iface is the index of theirs in Source.Interfaces.
func Open(o Options) (*Source, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	s := &Source{backend: o.Backend, chunk: chunkFor(o.Snap), settle: o.Delay}
	if err := s.waiter.open(); err != nil {
		return nil, fmt.Errorf("live capture: %w", err)
	}
	for i, name := range o.Interfaces {
		if err := s.add(i, name, &o); err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

// add opens an interface.
func (s *Source) add(index int, name string, o *Options) error {
	at, err := find(name)
	if err != nil {
		return err
	}
	var h handle
	switch o.Backend {
	case Libpcap:
		h, err = openLibpcap(at, o)
	default:
		h, err = openAFPacket(at, o)
	}
	if err != nil {
		return err
	}
	in := &input{handle: h, target: at, iface: uint16(index)}
	in.card.open(at)
	s.inputs = append(s.inputs, in)
	s.waiter.watch(h.descriptor())
	s.left += max(o.Buffer, minBlocks*blockSize)
	s.described = append(s.described, capture.Interface{
		Index: uint16(index), Name: at.name, Filter: o.filterText(),
		Link: h.link(), SnapLen: uint32(o.Snap),
	})
	return nil
}

// complete checks the options and fills in what is not given.
func (o *Options) complete() error {
	if len(o.Interfaces) == 0 || len(o.Interfaces) > maxInterfaces {
		return fmt.Errorf("live capture: %d interfaces given, from 1 to %d can be captured on", len(o.Interfaces), maxInterfaces)
	}
	for i, name := range o.Interfaces {
		for _, other := range o.Interfaces[:i] {
			if name == other || name == Any || other == Any {
				return &Error{Interface: name, Reason: "given beside " + other + ": its packets would come twice",
					Hint: "name each interface once, or " + Any + " alone"}
			}
		}
	}
	switch {
	case o.Snap < 0 || o.Snap > capture.MaxCaptured:
		return fmt.Errorf("snap length %d: must be from 1 to %d, or 0 for whole packets", o.Snap, capture.MaxCaptured)
	case o.Buffer < 0 || o.Buffer > maxBuffer:
		return fmt.Errorf("buffer of %d bytes: must be at most %d", o.Buffer, maxBuffer)
	case o.Delay < 0 || o.Delay > maxDelay:
		return fmt.Errorf("delay of %v: must be at most %v", o.Delay, maxDelay)
	case o.Filter != "" && o.AutoFilter != nil:
		return errors.New("filter and automatic filter: only one can be in the kernel")
	}
	o.fillIn()
	if err := o.Backend.available(); err != nil {
		return err
	}
	if o.Filter != "" && o.Backend != Libpcap {
		return filterNeedsLibpcap(o.Filter)
	}
	return o.AutoFilter.check()
}

// fillIn replaces zeros by what they stand for.
func (o *Options) fillIn() {
	if o.Snap == 0 {
		o.Snap = capture.MaxCaptured
	}
	if o.Buffer == 0 {
		o.Buffer = DefaultBuffer
	}
	if o.Delay == 0 {
		o.Delay = DefaultDelay
	}
	o.Delay = max(o.Delay.Round(time.Millisecond), time.Millisecond)
	if o.Backend == Auto {
		o.Backend = AFPacket
		if HasLibpcap || !HasAFPacket {
			o.Backend = Libpcap
		}
	}
}

// available says why a backend cannot be used.
func (b Backend) available() error {
	switch {
	case b == Libpcap && !HasLibpcap && !HasAFPacket:
		return &Error{Reason: "this build cannot capture: without cgo that is possible on Linux only",
			Hint: "build with CGO_ENABLED=1 and the headers of libpcap"}
	case b == Libpcap && !HasLibpcap:
		return &Error{Reason: "this build has no libpcap",
			Hint: "use the backend afpacket, or build with CGO_ENABLED=1 and the headers of libpcap"}
	case b == AFPacket && !HasAFPacket:
		return &Error{Reason: "the backend afpacket is for Linux", Hint: "use the backend libpcap"}
	}
	return nil
}

// filterText is what the description of an interface says of its filter.
func (o *Options) filterText() string {
	if o.AutoFilter != nil {
		return o.AutoFilter.String()
	}
	return o.Filter
}
