//go:build cgo

package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcap"
	"golang.org/x/net/bpf"

	"qsniff/capture"
)

// libpcapSource reads with libpcap.
type libpcapSource struct {
	packetwise
	handle    *pcap.Handle
	link      uint16
	expanding *errorKeeper
}

// HasLibpcap reports whether this build can read through libpcap, GopacketReader what
// OpenGopacket reads with.
const (
	HasLibpcap     = true
	GopacketReader = "libpcap"
)

// LibpcapVersion returns the version text of the libpcap that is loaded.
func LibpcapVersion() string { return pcap.Version() }

// OpenLibpcap opens a capture file with libpcap; "-" is standard input. It reads what
// libpcap accepts: pcapng too, if all interfaces have the same link type. But libpcap
// cuts packets that are longer than the file's snap length, numbers no interfaces, and
// ends at the first damage. Compressed captures need the option Pipe.
func OpenLibpcap(name string, opts ...Option) (capture.Source, error) {
	s := &libpcapSource{packetwise: packetwise{name: name}}
	if name == stdinArg {
		s.name = stdinName
	}
	if err := s.open(name, optionsOf(opts)); err != nil {
		s.Close()
		return nil, err
	}
	s.stats.Bytes = fileHeaderLen
	s.in, s.explain, s.describe = s.handle, s.readError, s.describePacket
	return s, nil
}

// open opens the handle, over a pipe where the input is compressed, or standard input
// that has been looked at, and determines the link type.
func (s *libpcapSource) open(name string, o options) error {
	in, start, err := s.inspect(name, o)
	if err != nil {
		return err
	}
	if kind := packingOf(start); kind != nil {
		if o.pipe == nil {
			return &Error{File: s.name, Offset: wholeFile, Err: ErrFormat,
				Reason: "compressed with " + kind.name + ", which libpcap does not read", Hint: "use --reader native"}
		}
		if start, name, err = s.expand(kind, in, start, o); err != nil {
			return err
		}
	} else if in != nil && in == io.Reader(os.Stdin) {
		if name, err = s.feed(io.MultiReader(bytes.NewReader(start), in), o); err != nil {
			return err
		}
	}
	if s.handle, err = pcap.OpenOffline(name); err != nil { // "-" is standard input there, too
		return s.libpcapError(err)
	}
	var f recordFormat
	if len(start) > 0 && !isSection(start) {
		if _, err := f.parse(s.name, start); err == nil {
			s.link = f.link
			return nil
		}
	}
	s.link, err = s.linkByName()
	return err
}

// inspect opens a regular file, or standard input if there is a pipe to pass it
// on, and returns its first bytes. For anything else, which must not be opened twice,
// in is nil.
func (s *libpcapSource) inspect(name string, o options) (in io.Reader, start []byte, err error) {
	f := os.Stdin
	if name == stdinArg {
		if o.pipe == nil {
			return nil, nil, nil
		}
	} else {
		info, err := os.Stat(name)
		switch {
		case err != nil:
			return nil, nil, systemError(name, err)
		case info.IsDir():
			return nil, nil, systemError(name, syscall.EISDIR)
		case !info.Mode().IsRegular():
			return nil, nil, nil
		}
		if f, err = os.Open(name); err != nil {
			return nil, nil, systemError(name, err)
		}
		s.closers = append(s.closers, f)
		s.regular, s.stats.Size = true, info.Size()
	}
	start, err = s.readStart(f)
	return f, start, err
}

// expand has a compressed input read through a pipe. It returns the first expanded
// bytes, and the name of the pipe.
func (s *libpcapSource) expand(kind *packing, in io.Reader, start []byte, o options) ([]byte, string, error) {
	s.packed = &packed{packing: kind, in: io.MultiReader(bytes.NewReader(start), in)}
	expanded, err := kind.open(s.packed)
	if err == nil {
		s.expanding = &errorKeeper{in: expanded}
		start, err = s.readStart(s.expanding)
	}
	if err != nil {
		return nil, "", s.packed.expandError(s.name, 0, err)
	}
	name, err := s.feed(io.MultiReader(bytes.NewReader(start), s.expanding), o)
	return start, name, err
}

// feed has in read through a pipe and returns a name under which libpcap can open the
// pipe: it would close an open file that it is given, which Close would do again.
func (s *libpcapSource) feed(in io.Reader, o options) (string, error) {
	pipe, err := o.pipe(in)
	if err != nil {
		return "", systemError(s.name, err)
	}
	s.closers = append([]io.Closer{pipe}, s.closers...)
	return "/dev/fd/" + strconv.Itoa(int(pipe.Fd())), nil
}

// errorKeeper keeps the error of an input that is read elsewhere, maybe in another
// goroutine.
type errorKeeper struct {
	in  io.Reader
	err atomic.Pointer[error]
}

// Read reads the input.
func (k *errorKeeper) Read(b []byte) (int, error) {
	n, err := k.in.Read(b)
	if err != nil && err != io.EOF {
		k.err.Store(&err)
	}
	return n, err
}

// linkByName returns the link type, which libpcap gives by name: the number that
// gopacket returns has 8 bits, too few for SLL2 (276).
func (s *libpcapSource) linkByName() (uint16, error) {
	links, err := s.handle.ListDataLinks()
	if err == nil && len(links) == 1 {
		if dlt := pcap.DatalinkNameToVal(links[0].Name); dlt >= 0 && dlt <= 0xffff {
			return linkOfDLT(dlt), nil
		}
	}
	return 0, &Error{File: s.name, Offset: wholeFile, Reason: "link type unknown to libpcap",
		Hint: "use --reader native"}
}

// linkOfDLT converts a DLT_ value, which libpcap uses in memory, into a LINKTYPE_ value,
// which is used in files. The two differ where systems had given the same number to
// different links; these are the numbers of Linux, macOS and Windows (libpcap,
// pcap/dlt.h and pcap-common.c).
func linkOfDLT(dlt int) uint16 {
	switch dlt {
	case 11: // DLT_ATM_RFC1483
		return 100
	case 12: // DLT_RAW
		return 101
	case 15: // DLT_SLIP_BSDOS
		return 102
	case 16: // DLT_PPP_BSDOS
		return 103
	}
	return uint16(dlt)
}

// CompileFilter returns libpcap's program of an expression in tcpdump's language, for packets of a link type.
func CompileFilter(link uint16, text string) ([]bpf.RawInstruction, error) {
	dlt := link
	switch link {
	case 100, 101, 102, 103:
		dlt = link - 89 // the reverse of linkOfDLT
	}
	if dlt > 0xff {
		return nil, fmt.Errorf("gopacket passes 8 bits of the link type %d", link)
	}
	code, err := pcap.CompileBPFFilter(layers.LinkType(dlt), capture.MaxCaptured, text)
	if err != nil {
		return nil, err
	}
	raw := make([]bpf.RawInstruction, len(code))
	for i, c := range code {
		raw[i] = bpf.RawInstruction{Op: c.Code, Jt: c.Jt, Jf: c.Jf, K: c.K}
	}
	return raw, nil
}

// describePacket sets what is the same for all packets but the time.
func (s *libpcapSource) describePacket(p *capture.Packet, ci *gopacket.CaptureInfo) {
	p.Nanos, p.Link = ci.Timestamp.UnixNano(), s.link
}

// readError returns the error for one with which libpcap ends.
func (s *libpcapSource) readError(err error) error {
	switch {
	case s.expanding != nil && s.expanding.err.Load() != nil:
		return s.packed.expandError(s.name, wholeFile, *s.expanding.err.Load())
	case err == io.EOF:
		return err
	case errors.As(err, new(pcap.NextError)):
		err = s.handle.Error()
	}
	return s.libpcapError(err)
}

func (s *libpcapSource) libpcapError(err error) error {
	return &Error{File: s.name, Offset: wholeFile, Reason: "libpcap: " + err.Error(),
		Hint: "use --reader native, which says more and reads more"}
}

// Close closes the file. Standard input stays open.
func (s *libpcapSource) Close() error {
	if s.handle != nil {
		s.handle.Close()
	}
	return s.packetwise.Close()
}
