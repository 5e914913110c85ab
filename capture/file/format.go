package file

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"qsniff/capture"
	"qsniff/internal/base/digits"
)

// Format is a format that captures are written in.
type Format uint8

// The formats.
const (
	Pcapng Format = iota // the default: interfaces, any mixture of link types
	Pcap                 // classic pcap: one link type, no interfaces
)

// ErrRefused is the Err of the error about a packet that the format of the file
// cannot hold.
var ErrRefused = errors.New("packet does not fit the format")

// FormatOf returns the format for the end of a file name: .pcap, .cap and .dmp are
// classic pcap, everything else is pcapng. Names of compressed files are an error:
// captures are written plain.
func FormatOf(name string) (Format, error) {
	switch ext := strings.ToLower(filepath.Ext(name)); ext {
	case ".pcap", ".cap", ".dmp":
		return Pcap, nil
	case ".gz", ".zst", ".lz4", ".bz2", ".xz":
		return Pcapng, &Error{File: name, Offset: wholeFile, Err: errors.ErrUnsupported,
			Reason: "captures are written without compression",
			Hint:   "leave out " + ext + " and compress the file when it is finished"}
	}
	return Pcapng, nil
}

// WriteError returns the error for an error of the system about an output.
func WriteError(name string, err error) *Error {
	e := &Error{File: name, Offset: wholeFile, Err: err}
	var path *fs.PathError
	switch {
	case errors.Is(err, syscall.ENOSPC):
		e.Reason = "no space left on the disk"
		e.Hint = "make room, or keep fewer or shorter files"
	case errors.Is(err, fs.ErrPermission):
		e.Reason = "permission denied"
		e.Hint = "choose a folder that the user who runs this may write in"
	case errors.Is(err, fs.ErrNotExist):
		e.Reason = "no such folder"
		e.Hint = "make it before: mkdir -p " + shellWord(filepath.Dir(name))
	case errors.As(err, &path):
		e.Reason = path.Err.Error()
	default:
		e.Reason = err.Error()
	}
	return e
}

// checkPacket returns an error if the format cannot hold p.
func (w *Writer) checkPacket(p *capture.Packet) error {
	seconds := p.Nanos / 1e9
	switch {
	case len(p.Data) > capture.MaxCaptured:
		return w.refusedError(digits.Grouped(int64(len(p.Data)))+" bytes in one packet, above the limit of "+
			digits.Grouped(capture.MaxCaptured), "")
	case p.Nanos < 0:
		return w.refusedError("a packet from before 1970", "")
	case w.opt.Format != Pcap:
		return nil
	case seconds > maxPcapSeconds:
		return w.refusedError("a packet from after 2106, beyond classic pcap", hintPcapng)
	case w.hasHeader && p.Link != w.link:
		return w.refusedError("a packet of link type "+strconv.Itoa(int(p.Link))+" among those of "+
			strconv.Itoa(int(w.link))+": classic pcap holds one link type", hintPcapng)
	}
	return nil
}

const (
	maxPcapSeconds = 1<<32 - 1
	hintPcapng     = "name the file .pcapng"
)

func (w *Writer) refusedError(reason, hint string) error {
	return &Error{File: w.name, Offset: wholeFile, Reason: reason, Hint: hint, Err: ErrRefused}
}
