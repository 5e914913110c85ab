package file

import "qsniff/capture"

// OpenPcapgo returns an error: in a browser there is one reader, which spares the page the
// decoders that pcapgo brings along.
func OpenPcapgo(name string, _ ...Option) (capture.Source, error) {
	return nil, &Error{File: name, Offset: wholeFile, Reason: "gopacket is not built into the page", Hint: "use --reader native"}
}
