package file

// NotPayload returns the error for a file of that name that was given where the bytes of
// a message are expected, if it starts like a capture or is compressed as captures are,
// and nil otherwise. start is its first bytes.
func NotPayload(name string, start []byte) *Error {
	e := &Error{File: name, Offset: wholeFile, Err: ErrFormat, Hint: "qsniff read " + shellWord(name)}
	if name == stdinName {
		e.Hint = "COMMAND | qsniff read -"
	}
	var f format
	switch p := packingOf(start); {
	case isSection(start), len(start) >= 4 && f.parseMagic(start):
		e.Reason = "is a capture, not a payload"
	case p != nil:
		e.Reason = "is compressed with " + p.name
		e.Hint = "if it is a capture: " + e.Hint + "; if not, expand it with " + p.unzip
	default:
		return nil
	}
	return e
}
