package split

import (
	"strconv"

	"qsniff/dissect/finding"
	"qsniff/reassembly/wire"
)

const wiki = "https://developer.valvesoftware.com/wiki/Server_queries#Protocol"

// The findings about split messages, each with the meaning of A and B in its Expert.
// Package pipeline raises Oversize and ToServer, because it has whole datagrams and the
// direction; all others are in Set.Expert.
var (
	// PartMissing: A is the number of missing parts, B packs the total, the
	// first missing number and what ended the wait (see packMissing).
	PartMissing = &finding.Code{
		ID: "SPL-01", Severity: finding.Warn, Fault: finding.Path,
		Seen:   "Some parts of a split reply were captured and others were not within 5 s.",
		Means:  "A part was lost or dropped. The client cannot use what it has and will ask again or show the server as silent.",
		Owner:  "look for loss and for filters that drop large or fragmented UDP between server and client",
		Client: "ask once more after a second; never show half a message",
		Ref:    wiki,
		Text:   missingText,
	}

	// DuplicatePart: A is how many came again, B is 1 if the whole message did.
	DuplicatePart = &finding.Code{
		ID: "SPL-02", Severity: finding.Note, Fault: finding.Path,
		Seen:   "A part with the id and the number of an earlier one, and the same bytes.",
		Means:  "The network or a mirror port doubled it, or the server sent it twice. Clients that count parts instead of numbers stop too early.",
		Owner:  "if the capture comes from a mirror port, capture one direction once; otherwise nothing, as networks may double a packet",
		Client: "ignore a part that is there already, and count numbers, not parts",
		Ref:    wiki,
		Text: func(dst []byte, e *finding.Expert) []byte {
			if e.B != 0 {
				return append(dst, "the whole split message came again"...)
			}
			return appendCount(dst, e.A, "part came again with the same bytes", "parts came again with the same bytes")
		},
	}

	// ConflictingPart: A is how many parts contradict one that came before; if
	// it is 0, B is how many disagree about the number of parts.
	ConflictingPart = &finding.Code{
		ID: "SPL-03", Severity: finding.Error, Fault: finding.Server,
		Seen:   "Two parts with the same id and number and different bytes, or parts of one id that disagree about how many there are.",
		Means:  "The id was used for two messages at once, or two servers answer from one address. The first bytes were kept; the joined message may be a mixture, and no text of a console in it is shown.",
		Owner:  "check whether several server processes share address and port, and whether a proxy rewrites ids",
		Client: "discard the message and ask again",
		Ref:    wiki,
		Text: func(dst []byte, e *finding.Expert) []byte {
			if e.A > 0 {
				return appendCount(dst, e.A, "part contradicts an earlier one of the same number", "parts contradict earlier ones of the same number")
			}
			return appendCount(dst, e.B, "part disagrees about the number of parts, at byte 8", "parts disagree about the number of parts, at byte 8")
		},
	}

	// IDReused: A is the id, B is how many parts the unfinished set had.
	IDReused = &finding.Code{
		ID: "SPL-04", Severity: finding.Warn, Fault: finding.Server,
		Seen:   "A new message began with the id of one that was not complete.",
		Means:  "Clients that key by id alone join parts of both messages.",
		Owner:  "tell the author of what answers: ids count up, and do not begin anew with each reply",
		Client: "begin a new message when part 0 differs",
		Ref:    wiki,
		Format: "a new message took over id {a} when {b} {b:part had|parts had} come",
	}

	// FormInferred: A is the wire.Engine that was chosen, and above its lowest byte the number of the part whose
	// size field contradicts. B is why (see fitsBest), and above its lowest byte what that field says and, from
	// bit 32 on, what it contradicts.
	FormInferred = &finding.Code{
		ID: "SPL-05", Severity: finding.Note, Fault: finding.Server,
		Seen:   "Parts of which none shows which of the three split headers it has, as the first part is missing, cut, or no query reply; or parts whose size field contradicts them.",
		Means:  "The header was read in the form that fits best. Libraries that go by the protocol number, the app id or the size field may read it differently.",
		Owner:  "compare with complete replies of the same server, and look for a proxy that writes parts of its own",
		Client: "choose the form of the header by what fits all parts, not by the protocol number, the app id or the size field",
		Ref:    wiki,
		Text: func(dst []byte, e *finding.Expert) []byte {
			dst = append(dst, "split header read as "...)
			dst = append(dst, formNames[wire.Engine(e.A&0xff)]...)
			switch why := e.B & 0xff; why {
			case fitsEarlier:
				return append(dst, ", the form of earlier messages"...)
			case longerThanSize, otherSize:
				dst = strconv.AppendUint(append(dst, ", though the size at byte 10 of part "...), e.A>>8, 10)
				dst = strconv.AppendUint(append(dst, " says "...), e.B>>8&0xffff, 10)
				if why == otherSize {
					return strconv.AppendUint(append(dst, ", and that of another part "...), e.B>>32, 10)
				}
				return strconv.AppendUint(append(dst, ", and its payload has "...), e.B>>32, 10)
			}
			return append(dst, ", the form that fits best"...)
		},
	}

	// BadStream: A is the flaw, with soundStream; B holds the declared length or CRC-32 in
	// its upper and the actual one in its lower half, or is 0.
	BadStream = &finding.Code{
		ID: "SPL-06", Severity: finding.Error, Fault: finding.Path,
		Seen:   "A message marked as compressed that is no sound bzip2 stream, or one of another length or CRC-32 than its header declares.",
		Means:  "Bytes were cut or corrupted on the path, parts were joined in a wrong order, or the server fills in the header wrongly or marks plain messages as compressed. Clients that check discard the message. Where the stream can be decompressed the message is shown as it came out, with status malformed, and nothing is learned of the server from it. If the stream's own checksum is right, these are the bytes that the server compressed, and its header is wrong.",
		Owner:  "if the finding says that the stream's own checksum is right, mend what computes size and CRC-32; else capture at the server to see whether the message leaves it like that",
		Client: "discard what the checksum refutes, and ask again; a server whose header is always wrong can be read without it",
		Ref:    wiki,
		Text:   streamText,
	}

	// Oversize: A is the length of the datagram's payload in bytes, B the number
	// of IP fragments it came in (0 or 1: it was not fragmented).
	Oversize = &finding.Code{
		ID: "SPL-07", Severity: finding.Warn, Fault: finding.Server,
		Seen:   "A reply in one datagram of more than 1,400 bytes, or in IP fragments, instead of split parts.",
		Means:  "Many NATs, filters and hosting networks drop fragments; clients on such paths get no reply. What was captured whole becomes fragments where a tunnel or VPN makes packets shorter.",
		Owner:  "let the server split where its engine can (a lower MTU or payload setting); else shorten what it lists, such as rules, tags and players",
		Client: "read datagrams of up to 65,507 bytes into one buffer",
		Ref:    wiki,
		Text: func(dst []byte, e *finding.Expert) []byte {
			dst = append(dst, "datagram of "...)
			dst = appendCount(dst, e.A, "byte", "bytes")
			if e.B <= 1 {
				return append(dst, ", longer than some paths carry whole"...)
			}
			dst = append(dst, ", sent in "...)
			return appendCount(dst, e.B, "IP fragment", "IP fragments")
		},
	}

	// Bomb: A is the declared size, B the limit. A is 0 if no size was declared
	// and the output exceeded the limit; B is 0 if the work of this second was spent.
	Bomb = &finding.Code{
		ID: "SPL-08", Severity: finding.Error, Fault: finding.Server,
		Seen:   "A compressed message that says it is larger than the limit or turns out to be, or more compressed messages in a second than are decompressed.",
		Means:  "No game server has that much to say. 400 bytes of bzip2 can hold 512 MiB: a client without a limit stops or dies.",
		Owner:  "find what writes such replies: no game server has that much to say",
		Client: "refuse declared sizes above a limit before decompressing, and stop at the declared size",
		Ref:    wiki,
		Text:   bombText,
	}

	// ToServer: A is the part's number, B the total.
	ToServer = &finding.Code{
		ID: "SPL-09", Severity: finding.Warn, Fault: finding.Client,
		Seen:   "A split part (FE FF FF FF) sent towards a query port.",
		Means:  "No client has to split a query. It is an attack tool that aims at the reassembly of old engines, or a confused client.",
		Owner:  "drop FE FF FF FF towards query ports at the firewall",
		Client: "never split a query: all fit one datagram",
		Ref:    wiki,
		Format: "part {a} of a split message ({b} {b:part|parts} in all) sent to a server",
	}

	// BadHeader: A is the byte after the id, B the one after that or 0.
	BadHeader = &finding.Code{
		ID: "SPL-10", Severity: finding.Error, Fault: finding.Server,
		Seen:   "A datagram that starts like a split part, with numbers that make sense in no form of the header.",
		Means:  "It says that there are no parts, or that it is a part beyond the last. No client can use it.",
		Owner:  "look for a broken proxy before the server",
		Client: "drop the datagram before its numbers are used as an index or a length",
		Ref:    wiki,
		Text: func(dst []byte, e *finding.Expert) []byte {
			dst = append(dst, "split header fits no form: no parts, or a number beyond the last, in bytes 8 and 9 ("...)
			dst = appendHexByte(dst, e.A)
			dst = appendHexByte(append(dst, ' '), e.B)
			return append(dst, ')')
		},
	}

	// Randomised has no numbers.
	Randomised = &finding.Code{
		ID: "SPL-11", Severity: finding.Note, Fault: finding.Server,
		Seen:   "A compressed message whose bzip2 stream has a randomised block.",
		Means:  "The stream is legal and of a kind that encoders ceased to write: libbz2 and what is built on it decode it, decoders in Go and others refuse it. qsniff shows its compressed bytes.",
		Owner:  "compress with a current bzip2, or with none: more clients read that",
		Client: "use a decoder that knows randomised blocks, as libbz2 does, or show that this part cannot be read",
		Ref:    wiki,
		Format: "randomised bzip2 block, which libbz2 decodes and qsniff does not",
	}
)

// Why a form is called inferred: the lowest byte of FormInferred's B.
const (
	fitsBest = iota
	fitsEarlier
	longerThanSize
	otherSize
)

// soundStream is the bit of BadStream's A that is set where the stream's own checksums are right.
const soundStream = 1 << 8

// Codes are all findings of this package.
var Codes = []*finding.Code{
	PartMissing, DuplicatePart, ConflictingPart, IDReused, FormInferred,
	BadStream, Oversize, Bomb, ToServer, BadHeader, Randomised,
}

func appendHexByte(dst []byte, v uint64) []byte {
	const digits = "0123456789abcdef"
	return append(dst, digits[v>>4&0xf], digits[v&0xf])
}

var formNames = [...]string{
	wire.None:       "no known form",
	wire.GoldSource: "GoldSource",
	wire.Source:     "Source with part size",
	wire.SourceOld:  "Source without part size",
}

// packMissing returns B of PartMissing: the total in bits 0 to 7, the first missing
// number in bits 8 to 15, and what ended the wait above.
func packMissing(total uint8, first int, why reason) uint64 {
	return uint64(total) | uint64(first)<<8 | uint64(why)<<16
}

func missingText(dst []byte, e *finding.Expert) []byte {
	total, first, why := e.B&0xff, e.B>>8&0xff, reason(e.B>>16)
	dst = strconv.AppendUint(dst, e.A, 10)
	dst = append(dst, " of "...)
	dst = appendCount(dst, total, "part", "parts")
	dst = append(dst, " missing, the first is number "...)
	dst = strconv.AppendUint(dst, first, 10)
	dst = append(dst, " (from 0)"...)
	switch why {
	case ended:
		return append(dst, "; the capture ended before the wait was over"...)
	case evicted:
		return append(dst, "; evicted early to stay within the memory limit"...)
	}
	return dst
}

func streamText(dst []byte, e *finding.Expert) []byte {
	want, got := e.B>>32, e.B&0xffff_ffff
	isSound := e.A&soundStream != 0
	switch flaw(e.A) {
	case noStream:
		return append(dst, "marked as compressed, but there is no bzip2 stream"...)
	case notPacked:
		return append(dst, "marked as compressed, but it is plain"...)
	case trailing:
		return append(dst, "length and CRC-32 are right, but the bzip2 stream ends badly or bytes follow it"...)
	case badCRC:
		dst = append(dst, "decompressed bytes have CRC-32 "...)
		dst = appendHex(dst, uint32(got))
		dst = append(dst, ", bytes 4 to 7 after the split header say "...)
		dst = appendHex(dst, uint32(want))
	case badLength:
		if !isSound && got > want {
			dst = append(dst, "more than the "...)
			dst = appendCount(dst, want, "byte", "bytes")
			return append(dst, " come out of the bzip2 stream that the header declares"...)
		}
		dst = appendCount(dst, got, "decompressed byte", "decompressed bytes")
		dst = append(dst, ", bytes 0 to 3 after the split header declare "...)
		dst = strconv.AppendUint(dst, want, 10)
	default:
		dst = append(dst, "bzip2 stream broken: "...)
		dst = appendCount(dst, got, "byte", "bytes")
		dst = append(dst, " came out"...)
		if want > 0 {
			dst = append(dst, ", the header declares "...)
			dst = strconv.AppendUint(dst, want, 10)
		}
		return dst
	}
	if isSound {
		return append(dst, "; the stream's own checksum is right"...)
	}
	return append(dst, "; the stream's own checksum is wrong, or bytes follow it"...)
}

func bombText(dst []byte, e *finding.Expert) []byte {
	switch {
	case e.B == 0:
		return append(dst, "not decompressed: the work allowed for one second is spent"...)
	case e.A == 0:
		dst = append(dst, "decompresses to more than the limit of "...)
		return appendCount(dst, e.B, "byte", "bytes")
	}
	dst = append(dst, "declares, in bytes 0 to 3 after the split header, "...)
	dst = appendCount(dst, e.A, "byte", "bytes")
	dst = append(dst, " decompressed, above the limit of "...)
	return strconv.AppendUint(dst, e.B, 10)
}

func appendCount(dst []byte, n uint64, one, many string) []byte {
	dst = strconv.AppendUint(dst, n, 10)
	dst = append(dst, ' ')
	if n == 1 {
		return append(dst, one...)
	}
	return append(dst, many...)
}

// appendHex appends eight digits.
func appendHex(dst []byte, v uint32) []byte {
	const digits = "0123456789abcdef"
	for shift := 28; shift >= 0; shift -= 4 {
		dst = append(dst, digits[v>>shift&15])
	}
	return dst
}

// addFinding adds a finding about the whole set, with its first and last frame.
func (o *Set) addFinding(code *finding.Code, sev finding.Severity, x, y uint64) *finding.Expert {
	e := finding.Expert{Code: code, Severity: sev, Field: -1, A: x, B: y, Addr: o.Src}
	if n := len(o.Frames); n > 0 {
		e.Frames = [2]uint64{o.Frames[0], o.Frames[n-1]}
	}
	o.Expert = append(o.Expert, e)
	return &o.Expert[len(o.Expert)-1]
}

// raiseFindings adds the findings about s, which is delivered for reason why, to a.out.
func (a *Assembler) raiseFindings(s *partSet, why reason) {
	o := &a.out
	if !s.isWhole() {
		a.raiseMissing(s, why)
	}
	if s.duplicates > 0 {
		o.addFinding(DuplicatePart, DuplicatePart.Severity, s.duplicates, 0).Frames = s.duplicateFrames
	}
	if s.isRepeat && s.isWhole() {
		o.addFinding(DuplicatePart, DuplicatePart.Severity, uint64(s.n), 1)
	}
	if s.conflicts > 0 {
		o.addFinding(ConflictingPart, ConflictingPart.Severity, s.conflicts, 0).Frames = s.conflictFrames
	}
	if s.otherTotals > 0 {
		o.addFinding(ConflictingPart, ConflictingPart.Severity, 0, s.otherTotals)
	}
	if number, why := a.contradictedSize(s); why != 0 {
		o.addFinding(FormInferred, FormInferred.Severity, uint64(s.engine)|uint64(number)<<8, why)
	} else if s.isInferred {
		why := uint64(fitsBest)
		if s.hint == s.engine {
			why = fitsEarlier
		}
		o.addFinding(FormInferred, FormInferred.Severity, uint64(s.engine), why)
	}
	if s.isMislabelled {
		o.addFinding(BadStream, finding.Warn, uint64(notPacked), 0)
	}
	a.raiseStream(s)
}

// contradictedSize returns the first part of s whose size field is not that of the set, or is less than its payload,
// and B of FormInferred; 0 if there is none. In a compressed message not every part has the field.
func (a *Assembler) contradictedSize(s *partSet) (number uint8, why uint64) {
	if s.engine != wire.Source || s.isCompressed {
		return 0, 0
	}
	for p := s.head; p != 0; p = a.parts.next[p] {
		pt := &a.parts.items[p]
		h, ok := wire.ParseSplit(a.startOf(pt), s.engine)
		payload := int(pt.wire) - s.engine.HeaderLen()
		switch {
		case !ok:
		case h.Size != s.size:
			return pt.number, otherSize | uint64(h.Size)<<8 | uint64(s.size)<<32
		case payload > int(h.Size):
			return pt.number, longerThanSize | uint64(h.Size)<<8 | uint64(payload)<<32
		}
	}
	return 0, 0
}

func (a *Assembler) raiseMissing(s *partSet, why reason) {
	o := &a.out
	if why == reused {
		o.addFinding(IDReused, IDReused.Severity, uint64(o.ID), uint64(s.n))
		return
	}
	first := 0
	for s.has(uint8(first)) {
		first++
	}
	sev := PartMissing.Severity
	if why != expired { // the missing parts may have come within the rest of the wait
		sev = finding.Note
	}
	if s.refused > 0 { // they came, and were refused
		why, sev = evicted, finding.Note
	}
	o.addFinding(PartMissing, sev, uint64(int(s.total)-s.n), packMissing(s.total, first, why))
}

func (a *Assembler) raiseStream(s *partSet) {
	o := &a.out
	switch s.flaw {
	case sound:
	case declaredTooLarge:
		o.addFinding(Bomb, Bomb.Severity, uint64(s.flawSize), uint64(a.lim.Inflated))
	case outputTooLarge:
		o.addFinding(Bomb, Bomb.Severity, 0, uint64(a.lim.Inflated))
	case overBudget:
		o.addFinding(Bomb, finding.Note, 0, 0)
	case trailing:
		o.addFinding(BadStream, finding.Note, uint64(trailing), 0)
	case randomised:
		o.addFinding(Randomised, Randomised.Severity, 0, 0)
	default:
		a, b := uint64(s.flaw), uint64(o.Declared)<<32|uint64(s.flawSize)
		if s.flaw == badCRC {
			b = uint64(o.CRC)<<32 | uint64(s.flawSum)
		}
		if s.isSound {
			a |= soundStream
		}
		o.addFinding(BadStream, BadStream.Severity, a, b)
	}
}
