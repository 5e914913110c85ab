//go:build cgo

package file

import (
	"io"
	"os"
	"syscall"

	"github.com/google/gopacket"
	"github.com/google/gopacket/pcap"

	"qsniff/capture"
)

// libpcapSource reads with libpcap. Its batches are copies, because libpcap
// keeps one packet at a time.
type libpcapSource struct {
	handle  *pcap.Handle
	name    string
	link    uint16
	regular bool
	stats   capture.Stats
	err     error // what Read returns from now on

	// The packet that did not fit into the last batch, if waiting. Its data is
	// libpcap's memory, valid until the handle is read again.
	waiting bool
	data    []byte
	info    gopacket.CaptureInfo
}

// HasLibpcap tells whether this build can read through libpcap.
const HasLibpcap = true

// OpenLibpcap opens a capture file with libpcap; "-" is standard input. What
// libpcap reads is what it accepts: pcapng too, if all interfaces have the same
// link type; but it cuts packets that are longer than the file's snap length.
//
// libpcap does not tell whether it would block. To keep the promise of
// capture.Source, a batch from anything but a regular file is one packet.
func OpenLibpcap(name string) (capture.Source, error) {
	s := &libpcapSource{name: name}
	var header [fileHeaderLen]byte
	if name == stdinArg {
		s.name = stdinName
	} else if err := s.inspect(header[:]); err != nil {
		return nil, err
	}
	var err error
	if s.handle, err = pcap.OpenOffline(name); err != nil { // takes "-" for standard input itself
		return nil, s.libpcapError(err)
	}
	var f format
	if s.regular && f.parse(name, header[:]) == nil {
		s.link = f.link
	} else if s.link, err = s.linkByName(); err != nil {
		s.handle.Close()
		return nil, err
	}
	s.stats.Bytes = fileHeaderLen
	return s, nil
}

// inspect reads the file header of a regular file into header. Anything else
// must not be opened twice.
func (s *libpcapSource) inspect(header []byte) error {
	info, err := os.Stat(s.name)
	switch {
	case err != nil:
		return systemError(s.name, err)
	case info.IsDir():
		return systemError(s.name, syscall.EISDIR)
	case !info.Mode().IsRegular():
		return nil
	}
	f, err := os.Open(s.name)
	if err != nil {
		return systemError(s.name, err)
	}
	defer f.Close()
	s.regular, s.stats.Size = true, info.Size()
	if _, err := io.ReadFull(f, header); err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return readError(s.name, 0, err)
	}
	return nil
}

// linkByName asks libpcap for the name of the link type and looks its number
// up: the number that gopacket returns has 8 bits, too few for SLL2 (276).
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

// linkOfDLT turns the number that libpcap uses in memory into the one in files.
// The two differ where systems had given the same number to different links;
// these are the numbers of Linux, macOS and Windows (libpcap, pcap/dlt.h and
// pcap-common.c).
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

// Read copies the next packets into b. It returns either packets or an error.
func (s *libpcapSource) Read(b *capture.Batch) error {
	b.Reset()
	if s.err != nil {
		return s.err
	}
	if cap(b.Packets) < capture.MaxPackets {
		b.Packets = make([]capture.Packet, 0, capture.MaxPackets)
	}
	b.Buf = grow(b.Buf, libpcapChunk)[:0]
	limit := capture.MaxPackets
	if !s.regular {
		limit = 1
	}
	for len(b.Packets) < limit {
		if s.err = s.next(); s.err != nil {
			break
		}
		if len(b.Buf)+len(s.data) > cap(b.Buf) {
			return nil
		}
		s.deliver(b)
	}
	if len(b.Packets) > 0 {
		return nil
	}
	return s.err
}

// next fetches the next packet, unless one is waiting.
func (s *libpcapSource) next() error {
	if s.waiting {
		return nil
	}
	data, info, err := s.handle.ZeroCopyReadPacketData()
	switch {
	case err == io.EOF:
		return err
	case err != nil:
		return s.libpcapError(s.handle.Error())
	case len(data) > capture.MaxCaptured:
		return lengthError(s.name, wholeFile, uint32(len(data)))
	}
	s.waiting, s.data, s.info = true, data, info
	return nil
}

// deliver copies the waiting packet into b, which has room for it.
func (s *libpcapSource) deliver(b *capture.Batch) {
	start := len(b.Buf)
	b.Buf = append(b.Buf, s.data...)
	end := len(b.Buf)
	s.stats.Received++
	s.stats.Bytes += int64(recordHeaderLen + len(s.data))
	b.Packets = append(b.Packets, capture.Packet{
		No:    s.stats.Received,
		Nanos: s.info.Timestamp.UnixNano(),
		Data:  b.Buf[start:end:end],
		Wire:  uint32(max(s.info.Length, len(s.data))),
		Link:  s.link,
	})
	s.waiting = false
}

func (s *libpcapSource) libpcapError(err error) error {
	return &Error{File: s.name, Offset: wholeFile, Reason: "libpcap: " + err.Error()}
}

// Stats counts what has been delivered so far. Bytes is what the packets take
// in classic pcap: libpcap does not tell its position.
func (s *libpcapSource) Stats() capture.Stats { return s.stats }

// Close closes the file. Standard input stays open.
func (s *libpcapSource) Close() error {
	s.handle.Close()
	return nil
}
