// Package live captures packets on network interfaces: it opens them, keeps what a
// filter lets pass, and delivers packets as a capture.Source. It does not decode,
// write files or drop privileges, and it never sends.
//
// The kernel filters a packet, puts it into a ring of blocks, and delivers a block when
// it is full or Options.Delay is over. Source.Read copies packets of all interfaces into
// a batch and puts them in order.
//
// There are two backends. AF_PACKET is the kernel's own ring of blocks (TPACKET_V3), read
// without any library; builds for Linux have it. libpcap, opened and read through
// gopacket's public API, captures where there is no AF_PACKET, and compiles the few words
// of tcpdump's filter language that capture/pcapfilter does not; builds with cgo have it. Both deliver the same packets, apart
// from the header of those of Any. Features that need the socket itself exist with AF_PACKET only.
//
// On Linux AF_PACKET is the default: in a flood of 100,000 queries a second, decoding and
// all, the program takes 1.32 times as much processor time with libpcap (690 and 523 ns a
// packet, medians of five; reading alone 118 and 53 ns). A call of C for each packet and a
// second copy cost that.
package live

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"qsniff/capture"
	"qsniff/capture/pcapfilter"
)

// Any is the name that stands for all interfaces, also those that come later.
const Any = "any"

// Backend is how packets are read from the system.
type Backend uint8

// The backends.
const (
	Auto     Backend = iota // AFPacket on Linux, but Libpcap for a Filter that it alone compiles; elsewhere Libpcap
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

// Options are what to capture, and how. Every option but Interfaces may be zero, which
// stands for its default.
type Options struct {
	// Interfaces are names as Devices lists them, or sockets (see DatagramPrefix), or Any alone. With Any only the
	// cooked header of each packet identifies its interface, and packets with two VLAN
	// tags cannot be decoded, because Linux does not deliver the type of the inner one:
	// capture on the interface itself then. With Libpcap the header is the older one,
	// LINUX_SLL, which does not identify the interface.
	Interfaces []string

	// Filter is what to keep, in the language of tcpdump (man 7 pcap-filter); ""
	// keeps everything. A few rare words need the backend Libpcap (see capture/pcapfilter).
	Filter string

	// AutoFilter, if set, has the kernel keep only what may be a query. It takes the
	// place of Filter.
	AutoFilter *AutoFilter

	// Snap is the most bytes kept of a packet, 0 for whole packets. The cooked header
	// that packets of Any begin with counts.
	Snap int

	// Buffer is how many bytes of captured packets wait in the kernel for each
	// interface while the program is busy, 0 for DefaultBuffer. It is rounded down to
	// blocks of 512 KiB, two at least.
	Buffer int

	// Delay is how long the kernel may hold back a packet to deliver several at once,
	// 0 for DefaultDelay. It is rounded to milliseconds.
	Delay time.Duration

	// Promiscuous asks interfaces for packets that are addressed to other hosts.
	Promiscuous bool

	Backend Backend

	// Reopen, if set, has the capture wait for an interface that goes down or vanishes. Without it Read
	// returns an error then.
	Reopen *Reopen

	expr         *pcapfilter.Expr // Filter, unless that is empty
	needsLibpcap bool             // or it needs libpcap
}

// Open begins to capture. It needs the right to open packet sockets; nothing later
// does, so privileges can be dropped after it. Errors about an interface, a filter or a
// missing right are of type *Error.
//
// Packets of several interfaces are ordered by time within what one Read delivers;
// Packet.Iface is the index of their interface in Source.Interfaces.
func Open(o Options) (*Source, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	s := &Source{backend: o.Backend, chunk: batchBytesFor(o.Snap), kernelDelay: o.Delay, reopen: o.Reopen, locate: locate,
		rest: restTime * time.Duration(min(o.Buffer, DefaultBuffer)>>10) / (DefaultBuffer >> 10)}
	if err := s.waiter.open(); err != nil {
		return nil, fmt.Errorf("live capture: %w", err)
	}
	for i, name := range o.Interfaces {
		if err := s.addInterface(i, name, &o); err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

// addInterface opens an interface and adds it to the inputs.
func (s *Source) addInterface(index int, name string, o *Options) error {
	isSocket := isDatagrams(name)
	at := target{name: name}
	var err error
	if !isSocket {
		at, err = findTarget(name)
	}
	if err != nil {
		return err
	}
	var h handle
	switch {
	case isSocket:
		h, err = openDatagrams(name, o)
	case o.Backend == Libpcap:
		h, err = openLibpcap(at, o)
	default:
		h, err = openAFPacket(at, o)
	}
	if err != nil {
		return err
	}
	in := &input{handle: h, target: at, iface: uint16(index)}
	if !isSocket {
		in.card.open(at)
	}
	s.inputs = append(s.inputs, in)
	if fd := h.descriptor(); fd >= 0 {
		s.waiter.watch(fd)
	}
	s.polls = 1
	if each := h.waits() * time.Duration(len(o.Interfaces)); each > 0 {
		s.polls = int(pollTimeout/each) - 1
	}
	s.bytesLeft += max(o.Buffer, minBlocks*blockSize)
	s.described = append(s.described, capture.Interface{
		Index: uint16(index), Name: at.name, Filter: o.filterText(),
		Link: h.link(), SnapLen: uint32(o.Snap),
	})
	return nil
}

// validate sets the defaults and returns an error for options that cannot be used.
func (o *Options) validate() error {
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
	if err := o.parseFilter(); err != nil {
		return err
	}
	o.setDefaults()
	if err := o.Backend.checkAvailable(); err != nil {
		return err
	}
	return o.AutoFilter.validate()
}

// setDefaults replaces zeros by the values that they stand for.
func (o *Options) setDefaults() {
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
		if !HasAFPacket || o.needsLibpcap {
			o.Backend = Libpcap
		}
	}
}

// checkAvailable returns an error if this build does not have the backend.
func (b Backend) checkAvailable() error {
	switch {
	case runtime.GOOS == "js":
		return &Error{Reason: "a browser cannot capture", Hint: "capture with qsniff live -w FILE, or tcpdump -w FILE, and open that here"}
	case runtime.GOOS == "windows":
		return &Error{Reason: "qsniff does not capture on Windows", Hint: "capture with dumpcap -w FILE, which comes with Wireshark, and open that here"}
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

// filterText returns the filter as the description of an interface has it.
func (o *Options) filterText() string {
	if o.AutoFilter != nil {
		return o.AutoFilter.String()
	}
	return o.Filter
}

// Values of the Err of an Error, beside errors of the system such as
// fs.ErrPermission.
var (
	ErrNoInterface = errors.New("no such interface")
	ErrDown        = errors.New("interface is down")
	ErrVanished    = errors.New("interface vanished")
	ErrFilter      = errors.New("filter cannot be used")
)

// Error is what is wrong with an interface or a filter, and what to do about it.
type Error struct {
	Interface string // "" if it is about the whole capture
	Reason    string // lower case, one line
	Hint      string // what to do, one line; may be empty
	Err       error  // for errors.Is; may be nil
}

// Error returns one line, without the hint.
func (e *Error) Error() string {
	if e.Interface == "" {
		return e.Reason
	}
	return e.Interface + ": " + e.Reason
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// permissionError is the error about a missing right to capture. One capability is
// enough, also for promiscuous mode; no user has to be root.
func permissionError(iface string, err error) *Error {
	return &Error{Interface: iface, Reason: "no right to capture", Hint: RightsHint(), Err: err}
}

// downError is about an interface that cannot be captured on before it is up.
func downError(name string) *Error {
	return &Error{Interface: name, Reason: ErrDown.Error(), Hint: "sudo ip link set " + shellWord(name) + " up", Err: ErrDown}
}

// goneError is about an interface that went down, or vanished, while it was captured on.
func goneError(name string, there bool) *Error {
	if there {
		return &Error{Interface: name, Reason: "interface went down", Hint: "start again when it is up", Err: ErrDown}
	}
	return &Error{Interface: name, Reason: ErrVanished.Error(), Hint: "start again when it is back; -i " + Any + " stays when interfaces come and go", Err: ErrVanished}
}

// unknownError is about a name that no interface has. It lists those there are.
func unknownError(name string, names []string) *Error {
	e := &Error{Interface: name, Reason: ErrNoInterface.Error(), Err: ErrNoInterface}
	if len(names) > 0 {
		e.Hint = "there are " + strings.Join(names, ", ")
	}
	return e
}

// filterError is about a filter that does not compile.
func filterError(iface, filter, reason string) *Error {
	return &Error{Interface: iface, Reason: "filter " + strconv.Quote(filter) + ": " + reason, Err: ErrFilter,
		Hint: `the language is that of tcpdump (man 7 pcap-filter): "udp port 27015 or tcp port 27015"`}
}

// shellWord quotes s for a command that is pasted into a shell.
func shellWord(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/+-@:"
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// programPath returns the path of this program for a command.
func programPath() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}
