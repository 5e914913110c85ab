//go:build cgo && unix

package live

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/pcap"
	"golang.org/x/net/bpf"

	"qsniff/capture"
)

// HasLibpcap reports whether this build has the backend Libpcap.
const HasLibpcap = true

// libpcapHandle is an interface that gopacket's pcap.Handle opens, filters and reads,
// all through its public functions. These decide three things:
//
//   - A handle reports no descriptor and not whether it would block: a read that finds
//     no packet waits for one, up to the timeout, before it returns without.
//   - Each packet takes a call of C, and is copied twice: libpcap copies it out of its
//     ring, because the block may be given back, and read copies it into the batch.
//   - Link types have 8 bits, too few for LINUX_SLL2 (276): packets of Any have the
//     older cooked header, which does not name the interface.
type libpcapHandle struct {
	at       target
	handle   *pcap.Handle
	linkType uint16
	timeout  time.Duration // of a read that finds no packet
	query    int           // socket through which the system is asked about the interface
	options  *Options
	isBroken bool // reading failed, and goes on failing

	// The packet that has been read and is in no batch yet, nil if there is none. The
	// memory is libpcap's, valid until the handle is read again.
	kept []byte
	info gopacket.CaptureInfo

	sinceStats  int    // calls of drops
	lastDropped uint32 // the kernel's count, which has 32 bits, when it was last asked for
	dropped     uint64
}

// openLibpcap opens an interface. libpcap collects packets for Delay in a ring of
// blocks. Its immediate mode is not used: that takes the kernel's older ring, in which
// each packet has the room of the longest one, so that eight packets fill 2 MiB.
func openLibpcap(at target, o *Options) (handle, error) {
	if err := checkPermission(); err != nil {
		return nil, permissionError(at.name, err)
	}
	inactive, err := pcap.NewInactiveHandle(at.name)
	if err != nil {
		return nil, libpcapError(at, err.Error(), err)
	}
	defer inactive.CleanUp()
	h := &libpcapHandle{at: at, timeout: libpcapTimeout(o), options: o}
	for _, err := range []error{
		inactive.SetSnapLen(o.Snap), inactive.SetBufferSize(max(o.Buffer, minBlocks*blockSize)),
		inactive.SetPromisc(o.Promiscuous && at.index != 0), inactive.SetTimeout(h.timeout),
	} {
		if err != nil {
			return nil, libpcapError(at, err.Error(), err)
		}
	}
	if h.handle, err = inactive.Activate(); err != nil {
		return nil, activateError(at, inactive, err)
	}
	if at.loop && runtime.GOOS == "linux" {
		_ = h.handle.SetDirection(pcap.DirectionIn)
	}
	if h.query, err = openQuery(); err == nil {
		if err = h.findLink(); err == nil {
			err = h.setFilter(o)
		}
	}
	if err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

// libpcapTimeout returns how long a handle waits for a packet. It is also the time for
// which the kernel collects packets. Several interfaces are read in turn, so they share
// Delay.
func libpcapTimeout(o *Options) time.Duration {
	each := min(o.Delay, pollTimeout) / time.Duration(len(o.Interfaces))
	return max(each.Round(time.Millisecond), time.Millisecond)
}

func libpcapError(at target, reason string, err error) *Error {
	return &Error{Interface: at.name, Reason: "libpcap: " + reason, Err: err}
}

// activateError returns the error for a handle that libpcap did not activate, with a
// hint where there is a remedy.
func activateError(at target, inactive *pcap.InactiveHandle, err error) error {
	reason := err.Error()
	switch {
	case strings.Contains(reason, "Permission"):
		return permissionError(at.name, err)
	case strings.Contains(reason, "Not Up"):
		return downError(at.name)
	}
	if detail := inactive.Error().Error(); detail != "" {
		reason = detail
	}
	return libpcapError(at, reason, err)
}

// findLink determines the link type. gopacket returns the lower 8 bits of libpcap's
// number, which are checked against the names of the types that the interface has.
func (h *libpcapHandle) findLink() error {
	dlt := int(h.handle.LinkType())
	known, err := h.handle.ListDataLinks()
	if err != nil {
		return libpcapError(h.at, err.Error(), err)
	}
	for _, k := range known {
		if pcap.DatalinkNameToVal(k.Name) == dlt {
			h.linkType = linkOfDLT(dlt)
			return nil
		}
	}
	return &Error{Interface: h.at.name, Reason: "libpcap: its link type has more than the 8 bits that gopacket returns",
		Hint: "use the backend afpacket"}
}

// linkOfDLT converts a DLT_ value, which libpcap uses in memory, into a LINKTYPE_ value,
// which is used in files. Of the links that are captured here only the one without a
// header differs.
func linkOfDLT(dlt int) uint16 {
	if dlt == 12 || dlt == 14 { // DLT_RAW, on OpenBSD the second
		return linkRaw
	}
	return uint16(dlt)
}

// setFilter compiles and sets the filter that o names, if any.
func (h *libpcapHandle) setFilter(o *Options) error {
	if o.AutoFilter == nil {
		if o.Filter == "" {
			return nil
		}
		raw, err := o.program(h.at.name, h.linkType, true)
		switch {
		case err != nil:
			return err
		case raw != nil:
			return h.attach(raw, o.Filter)
		}
		if err := h.handle.SetBPFFilter(o.Filter); err != nil {
			return filterError(h.at.name, o.Filter, err.Error())
		}
		return nil
	}
	filter, err := o.AutoFilter.build(viewOf(h.linkType), uint32(o.Snap))
	if err != nil {
		return fmt.Errorf("%s: %w", h.at.name, err)
	}
	raw, err := bpf.Assemble(filter)
	if err != nil {
		return fmt.Errorf("%s: automatic filter: %w", h.at.name, err)
	}
	return h.attach(raw, o.AutoFilter.String())
}

// attach sets a program; what is what it keeps, for people.
func (h *libpcapHandle) attach(raw []bpf.RawInstruction, what string) error {
	program := make([]pcap.BPFInstruction, len(raw))
	for i, r := range raw {
		program[i] = pcap.BPFInstruction{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	if err := h.handle.SetBPFInstructionFilter(program); err != nil {
		return filterError(h.at.name, what, err.Error())
	}
	return nil
}

// read implements handle. A call that finds no packet takes as long as the timeout.
// Packets are not held back for longer than that: once those in b span it, read returns.
func (h *libpcapHandle) read(b *capture.Batch, iface uint16, most int) error {
	first := int64(0)
	for begin := len(b.Packets); len(b.Packets) < most; {
		if h.kept == nil {
			var err error
			if h.kept, h.info, err = h.handle.ZeroCopyReadPacketData(); err != nil {
				h.kept = nil
				return h.checkInterface(err)
			}
			h.kept = h.kept[:min(len(h.kept), capture.MaxCaptured)]
		}
		start := len(b.Buf)
		end := start + len(h.kept)
		if end > cap(b.Buf) {
			return nil
		}
		b.Buf = append(b.Buf, h.kept...)
		nanos := h.info.Timestamp.UnixNano()
		b.Packets = append(b.Packets, capture.Packet{
			Nanos: nanos,
			Data:  b.Buf[start:end:end],
			Wire:  uint32(max(h.info.Length, end-start)),
			Link:  h.linkType,
			Iface: iface,
		})
		h.kept = nil
		if len(b.Packets) == begin+1 {
			first = nanos
		} else if nanos-first > int64(h.timeout) {
			return nil
		}
	}
	return nil
}

// checkInterface returns an error if the interface went down or vanished, or if reading
// failed; err is what the read returned. It asks the system about the interface: since
// 1.10 libpcap returns no error when one goes down, and the text of its errors differs
// between versions.
func (h *libpcapHandle) checkInterface(err error) error {
	isTimeout := err == pcap.NextErrorTimeoutExpired
	h.isBroken = h.isBroken || !isTimeout
	if h.at.index != 0 {
		if there, up := interfaceState(h.query, h.at.index); !up {
			return goneError(h.at.name, there)
		}
	}
	switch {
	case isTimeout:
		return nil
	case err == io.EOF:
		return err
	}
	failed := libpcapError(h.at, h.handle.Error().Error(), err)
	if h.options.Reopen != nil { // a device that is up under another name has disappeared for libpcap
		failed.Err = ErrVanished
	}
	return failed
}

// drops adds what libpcap has counted. gopacket allocates for the answer, so libpcap is
// asked every cardEvery calls, and if now is set.
func (h *libpcapHandle) drops(now bool) uint64 {
	if now || h.sinceStats%cardEvery == 0 {
		if stats, err := h.handle.Stats(); err == nil {
			count := uint32(stats.PacketsDropped)
			h.dropped += uint64(count - h.lastDropped)
			h.lastDropped = count
		}
	}
	h.sinceStats++
	return h.dropped
}

// hasMore implements handle. libpcap does not report what waits, but packets that did are
// old: the kernel delivers them within twice the timeout.
func (h *libpcapHandle) hasMore() bool { return time.Since(h.info.Timestamp) > 3*h.timeout }

func (h *libpcapHandle) link() uint16         { return h.linkType }
func (h *libpcapHandle) descriptor() int      { return -1 }
func (h *libpcapHandle) waits() time.Duration { return h.timeout }

// rebind implements handle. A handle goes on by itself when its device is up again. After an error of libpcap, and for
// another device of the name, one is opened, which takes the right to capture.
func (h *libpcapHandle) rebind(at target) error {
	if at.index == h.at.index && !h.isBroken {
		return nil
	}
	opened, err := openLibpcap(at, h.options)
	if err != nil {
		return err
	}
	next := opened.(*libpcapHandle)
	if next.linkType != h.linkType {
		next.close()
		return linkError(h.at.name)
	}
	h.drops(true)
	next.dropped, next.at.name = h.dropped, h.at.name
	h.close()
	*h = *next
	return nil
}

func (h *libpcapHandle) close() {
	h.handle.Close()
	closeQuery(h.query)
	h.kept = nil
}
