package file

import "encoding/binary"

// optionWalk walks over the options of a pcapng block: a code and a length of
// 16 bits each, the value, and padding to four bytes. It ends at the end of the
// block, at the option that says so (code 0), or at an option that does not fit:
// options are remarks, and one that is damaged is no reason to doubt the block.
type optionWalk struct {
	rest      []byte
	bigEndian bool
}

const optionHeaderLen = 4

// next says whether there is another option.
func (w *optionWalk) next() bool {
	if len(w.rest) < optionHeaderLen {
		return false
	}
	code, length := w.header()
	return code != 0 && length <= len(w.rest)-optionHeaderLen
}

// option returns the next option. The value is part of the block.
func (w *optionWalk) option() (code uint16, value []byte) {
	code, length := w.header()
	end := optionHeaderLen + length
	value = w.rest[optionHeaderLen:end:end]
	w.rest = w.rest[min((end+3)&^3, len(w.rest)):]
	return code, value
}

func (w *optionWalk) header() (code uint16, length int) {
	if w.bigEndian {
		return binary.BigEndian.Uint16(w.rest), int(binary.BigEndian.Uint16(w.rest[2:]))
	}
	return binary.LittleEndian.Uint16(w.rest), int(binary.LittleEndian.Uint16(w.rest[2:]))
}
