package file

import "encoding/binary"

// optionWalk steps through the options of a pcapng block: a code and a length of
// 16 bits each, the value, and padding to four bytes. It ends at the end of the
// block, at the option that marks the end (code 0), or at an option that does not fit:
// a malformed option is no reason to doubt the packet.
type optionWalk struct {
	rest      []byte
	bigEndian bool
}

const optionHeaderLen = 4

// hasNext reports whether there is another option.
func (w *optionWalk) hasNext() bool {
	if len(w.rest) < optionHeaderLen {
		return false
	}
	code, length := w.parseHeader()
	return code != 0 && length <= len(w.rest)-optionHeaderLen
}

// next returns the next option, if hasNext. The value points into the block.
func (w *optionWalk) next() (code uint16, value []byte) {
	code, length := w.parseHeader()
	end := optionHeaderLen + length
	value = w.rest[optionHeaderLen:end:end]
	w.rest = w.rest[min((end+3)&^3, len(w.rest)):]
	return code, value
}

func (w *optionWalk) parseHeader() (code uint16, length int) {
	if w.bigEndian {
		return binary.BigEndian.Uint16(w.rest), int(binary.BigEndian.Uint16(w.rest[2:]))
	}
	return binary.LittleEndian.Uint16(w.rest), int(binary.LittleEndian.Uint16(w.rest[2:]))
}
