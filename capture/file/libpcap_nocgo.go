//go:build !cgo

package file

import (
	"errors"

	"golang.org/x/net/bpf"

	"qsniff/capture"
)

// HasLibpcap reports whether this build can read through libpcap, GopacketReader what
// OpenGopacket reads with.
const (
	HasLibpcap     = false
	GopacketReader = "pcapgo"
)

// LibpcapVersion returns "": this build has no libpcap.
func LibpcapVersion() string { return "" }

// CompileFilter returns an error.
func CompileFilter(uint16, string) ([]bpf.RawInstruction, error) {
	return nil, errors.New("this build has no libpcap")
}

// OpenLibpcap returns an error: libpcap is reached through cgo, and this build
// has none.
func OpenLibpcap(name string, _ ...Option) (capture.Source, error) {
	if name == stdinArg {
		name = stdinName
	}
	return nil, &Error{File: name, Offset: wholeFile, Reason: "this build has no libpcap",
		Hint: "use --reader native, or build with CGO_ENABLED=1 and the headers of libpcap"}
}
