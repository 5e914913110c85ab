//go:build cgo && unix

package live

/*
#cgo LDFLAGS: -lpcap
#cgo noescape live_read
#cgo nocallback live_read
#include <pcap.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct live_record {
	int64_t sec, frac;
	uint32_t captured, wire;
};

struct live_reader {
	pcap_t *pcap;
	uint8_t *buf; // of the batch
	uint32_t room, used;
	int n, failed, has_kept;
	struct live_record kept, records[1024];
	uint8_t kept_data[262144]; // capture.MaxCaptured
};

static struct live_reader *live_open(pcap_t *pcap) {
	struct live_reader *r = calloc(1, sizeof *r);
	if (r)
		r->pcap = pcap;
	return r;
}

static void live_close(struct live_reader *r) { free(r); }

// live_put copies a packet to the end of the batch. It returns 0 if there is no room.
static int live_put(struct live_reader *r, const struct live_record *x, const uint8_t *data) {
	if (x->captured > r->room - r->used)
		return 0;
	memcpy(r->buf + r->used, data, x->captured);
	r->used += x->captured;
	r->records[r->n++] = *x;
	return 1;
}

// live_take puts a packet that libpcap delivers into the batch. One for which there is no room
// is kept for the next batch, and the last one that is delivered: libpcap gives its block back
// to the kernel.
static void live_take(u_char *user, const struct pcap_pkthdr *header, const u_char *data) {
	struct live_reader *r = (struct live_reader *)user;
	struct live_record x = {header->ts.tv_sec, header->ts.tv_usec, header->caplen, header->len};
	if (x.captured > sizeof r->kept_data)
		x.captured = sizeof r->kept_data;
	if (live_put(r, &x, data))
		return;
	r->kept = x;
	memcpy(r->kept_data, data, x.captured);
	r->has_kept = 1;
	pcap_breakloop(r->pcap);
}

// live_read copies packets after one another into buf until most are there, the next
// does not fit, or none is waiting. It returns how many.
static int live_read(struct live_reader *r, uint8_t *buf, uint32_t room, int most) {
	r->buf = buf;
	r->room = room;
	r->used = r->n = r->failed = 0;
	if (r->has_kept && live_put(r, &r->kept, r->kept_data))
		r->has_kept = 0;
	while (r->n < most && !r->has_kept) {
		int got = pcap_dispatch(r->pcap, most - r->n, live_take, (u_char *)r);
		if (got == PCAP_ERROR_BREAK) // by live_take; some systems report it the next time
			continue;
		r->failed = got < 0;
		if (got <= 0)
			break;
	}
	return r->n;
}
*/
import "C"

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/google/gopacket/pcap"
	"golang.org/x/net/bpf"

	"qsniff/capture"
)

// HasLibpcap reports whether this build has the backend Libpcap.
const HasLibpcap = true

// libpcapHandle is an interface that gopacket has opened with libpcap. gopacket also
// sets the filter and closes the handle, but packets are read without it, for four
// reasons: its read waits whenever there is no packet, so that several interfaces would
// wait for one another; Close waits for that read; it takes one call of C per packet;
// and its type for link types has 8 bits, too few for the header of "any" that names
// the interface (276).
type libpcapHandle struct {
	at       target
	opened   *pcap.Handle
	pcap     *C.pcap_t
	reader   *C.struct_live_reader
	linkType uint16
	fd       int
	unit     int64 // nanoseconds of the fraction of a second

	stats       C.struct_pcap_stat
	lastDropped uint32 // what the kernel's count was: it has 32 bits
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
		return nil, &Error{Interface: at.name, Reason: "libpcap: " + err.Error(), Err: err}
	}
	defer inactive.CleanUp()
	for _, err := range []error{
		inactive.SetSnapLen(o.Snap), inactive.SetBufferSize(max(o.Buffer, minBlocks*blockSize)),
		inactive.SetPromisc(o.Promiscuous && at.index != 0), inactive.SetTimeout(o.Delay),
	} {
		if err != nil {
			return nil, &Error{Interface: at.name, Reason: "libpcap: " + err.Error(), Err: err}
		}
	}
	opened, err := inactive.Activate()
	if err != nil {
		return nil, activateError(at, inactive, err)
	}
	h := &libpcapHandle{at: at, opened: opened}
	if err := h.takeOver(o); err != nil {
		h.close()
		return nil, err
	}
	return h, nil
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
	if said := inactive.Error().Error(); said != "" {
		reason = said
	}
	return &Error{Interface: at.name, Reason: "libpcap: " + reason, Err: err}
}

// takeOver finds libpcap's own handle in that of gopacket, prepares it for live_read, and
// sets the filter.
func (h *libpcapHandle) takeOver(o *Options) error {
	field := reflect.ValueOf(h.opened).Elem().FieldByName("cptr")
	if !field.IsValid() || field.Kind() != reflect.Pointer {
		return errors.New("libpcap: this version of gopacket keeps its handle elsewhere")
	}
	h.pcap = (*C.pcap_t)(field.UnsafePointer())
	if h.at.index == 0 {
		C.pcap_set_datalink(h.pcap, C.int(linkSLL2)) // libpcap before 1.10 stays with SLL
	}
	h.linkType = linkOfDLT(int(C.pcap_datalink(h.pcap)))
	h.fd = int(C.pcap_get_selectable_fd(h.pcap))
	ignoreOutgoing(h.fd, h.at)
	h.unit = int64(time.Microsecond)
	if C.pcap_get_tstamp_precision(h.pcap) == C.PCAP_TSTAMP_PRECISION_NANO {
		h.unit = 1
	}
	if h.reader = C.live_open(h.pcap); h.reader == nil {
		return errors.New("libpcap: out of memory")
	}
	return h.setFilter(o)
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
		if err := h.opened.SetBPFFilter(o.Filter); err != nil {
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
	program := make([]pcap.BPFInstruction, len(raw))
	for i, r := range raw {
		program[i] = pcap.BPFInstruction{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	if err := h.opened.SetBPFInstructionFilter(program); err != nil {
		return filterError(h.at.name, o.AutoFilter.String(), err.Error())
	}
	return nil
}

// read implements handle, by live_read.
func (h *libpcapHandle) read(b *capture.Batch, iface uint16, most int) error {
	start, room := len(b.Buf), cap(b.Buf)-len(b.Buf)
	most -= len(b.Packets)
	if most <= 0 || room == 0 {
		return nil
	}
	buf := b.Buf[start : start+room]
	n := int(C.live_read(h.reader, (*C.uint8_t)(&buf[0]), C.uint32_t(room), C.int(most)))
	b.Buf = b.Buf[:start+int(h.reader.used)]
	for i := range h.reader.records[:n] {
		r := &h.reader.records[i]
		end := start + int(r.captured)
		b.Packets = append(b.Packets, capture.Packet{
			Nanos: int64(r.sec)*int64(time.Second) + int64(r.frac)*h.unit,
			Data:  b.Buf[start:end:end],
			Wire:  uint32(max(r.wire, r.captured)),
			Link:  h.linkType,
			Iface: iface,
		})
		start = end
	}
	if n == 0 || h.reader.failed != 0 {
		return h.checkInterface()
	}
	return nil
}

// checkInterface returns an error if the interface went down or vanished, or if reading
// failed. It asks the system about the interface: since 1.10 libpcap returns no error
// when one goes down, and the text of its errors differs between versions.
func (h *libpcapHandle) checkInterface() error {
	if h.at.index != 0 {
		if there, up := interfaceState(h.fd, h.at.index); !up {
			return goneError(h.at.name, there)
		}
	}
	if h.reader.failed != 0 {
		return &Error{Interface: h.at.name, Reason: "libpcap: " + h.opened.Error().Error()}
	}
	return nil
}

// drops adds what libpcap has counted since the last call.
func (h *libpcapHandle) drops() uint64 {
	if C.pcap_stats(h.pcap, &h.stats) == 0 {
		now := uint32(h.stats.ps_drop)
		h.dropped += uint64(now - h.lastDropped)
		h.lastDropped = now
	}
	return h.dropped
}

func (h *libpcapHandle) link() uint16    { return h.linkType }
func (h *libpcapHandle) descriptor() int { return h.fd }

func (h *libpcapHandle) close() {
	h.opened.Close()
	C.live_close(h.reader)
	h.reader = nil
}
