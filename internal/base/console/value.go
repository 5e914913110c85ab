package console

import "bytes"

// hasSeparator reports whether a mark follows the plain name that ends at offset at, where
// sentences have none: password: x, "password":"x", but not "Wrong password, ...".
func hasSeparator(b []byte, at int) bool {
	if at == len(b) {
		return false
	}
	switch x := b[at]; {
	case x == 0, x == '\t':
		return true
	case x != ' ':
		for at < len(b) && isStop(b[at]) {
			at++
		}
		if at < len(b) && b[at] != ' ' {
			return !isEnd(b[at]) || b[at] == 0 || continuesBelow(b, at)
		}
		at = skipBlanks(b, at)
		return at < len(b) && isSeparator(b[at:])
	}
	at = skipBlanks(b, at)
	return at < len(b) && !wordBytes[b[at]] && !isEnd(b[at]) && !isStop(b[at])
}

// isStop reports whether x ends a sentence or a part of one.
func isStop(x byte) bool { return bytes.IndexByte([]byte(",.!?;)]}"), x) >= 0 }

// findValue returns the value after the name of a variable that ends at offset at: the
// rest of the command or line. Output is like "rcon_password" is "x", tables are like
// rcon_password : x, and no list of such words would be complete. If expectsNext is set
// and the line has no value, the next line is the value.
func findValue(b []byte, at int, expectsNext bool) Span {
	first := findOpening(b, at)
	hi, closed := first.findEnd(b)
	line := b[first.lo:hi]
	attached := first.lo == first.marks && first.quote == 0
	none := Span{-1, -1}
	s := Span{first.lo, hi}
	switch {
	case first.quote != 0 && closed && (len(line) == 0 || line[0] == first.quote && len(bytes.Trim(line[1:], " \t")) == 0): // ""
		return none
	case len(line) == 0 || attached && hasOnlyMarks(line): // a sentence ends: Bad rcon_password.
		s = none
		expectsNext = expectsNext || first.isSeparated || isUnfinished(line) || continuesBelow(b, hi) || hi < len(b) && b[hi] == 0
	case hi < len(b) && !isEnd(b[hi]): // another command follows, or who sent this
		expectsNext = false
	default:
		expectsNext = !closed || isUnfinished(line) || first.isSeparated && hasOnlyMarks(line)
	}
	for next := hi; expectsNext && next < len(b); {
		l := lineAfter(b, next)
		if l.lo == len(b) {
			break
		}
		if !s.IsFound() {
			s.Lo = l.lo
		}
		next = nextEnd(b, l.lo)
		s.Hi = next
		expectsNext = isUnfinished(b[l.lo:next]) || hasOnlyMarks(b[l.lo:next])
	}
	if s.IsFound() && s.Hi == hi && first.quote != 0 && hi > s.Lo && b[hi-1] == first.quote {
		s.Hi--
	}
	return s
}

// opening is the start of a value.
type opening struct {
	lo          int  // offset of the value
	marks       int  // offset after the marks that are attached to the name
	isSeparated bool // by more than blanks from the name
	quote       byte // before the value; 0 for none
}

// findOpening skips what stands between a name that ends at offset at and its value
// in the same line: marks that close what opened before the name, blanks, separators,
// one quote.
func findOpening(b []byte, at int) opening {
	o := opening{lo: at}
	for o.lo < len(b) {
		n := closingLen(b[o.lo:])
		if n == 0 {
			break
		}
		o.lo += n
	}
	o.marks = o.lo
	for ; o.lo < len(b) && !isEnd(b[o.lo]); o.lo++ {
		x := b[o.lo]
		sep := isSeparator(b[o.lo:])
		if x > ' ' && !sep || x == escape {
			break
		}
		o.isSeparated = o.isSeparated || sep
	}
	if o.lo+1 < len(b) && b[o.lo] == '\\' && isQuote(b[o.lo+1]) {
		o.lo++
	}
	if o.lo < len(b) && isQuote(b[o.lo]) {
		o.quote = b[o.lo]
		o.lo++
	}
	return o
}

// findEnd returns the offset where the value ends, in its line: at a semicolon outside of
// quotes that a blank follows, or where a log line closes its quote and names the sender of
// the command. closed reports whether the quote before the value, if there is one, is
// closed.
func (o opening) findEnd(b []byte) (hi int, closed bool) {
	delim := o.quote
	if delim == 0 {
		delim = '"'
	}
	quoted := o.quote != 0
	for hi = o.lo; hi < len(b) && !isEnd(b[hi]); hi++ {
		switch x := b[hi]; {
		case x == delim && (hi == o.lo || b[hi-1] != '\\'):
			quoted = !quoted
		case x == ';' && !quoted && (o.quote != 0 || hi+1 < len(b) && isBlank(b[hi+1])):
			return hi, true
		}
	}
	if i := bytes.LastIndex(b[o.lo:hi], quoteFrom); i >= 0 {
		return o.lo + i, true
	}
	return hi, o.quote == 0 || !quoted
}

// isUnfinished reports whether the value goes on in the next line: "rcon_password is:".
func isUnfinished(line []byte) bool {
	line = trimMarks(line)
	if len(line) == 0 {
		return false
	}
	if bytes.IndexByte([]byte(":=>|,-[{(<\\"), line[len(line)-1]) >= 0 {
		return true
	}
	lo := len(line)
	for lo > 0 && wordBytes[line[lo-1]] && len(line)-lo <= len("was") {
		lo--
	}
	return isConnector(line[lo:])
}

// continuesBelow reports whether the line after the one that ends at offset at begins
// with a separator or a quote: rcon_password LF : x
func continuesBelow(b []byte, at int) bool {
	at = skipBlanks(b, nextLine(b, at))
	return at < len(b) && (isSeparator(b[at:]) || isQuote(b[at]))
}

// lineAfter returns the opening of the next line with something in it.
func lineAfter(b []byte, at int) opening {
	for at < len(b) && b[at] <= ' ' && b[at] != escape {
		at++
	}
	return findOpening(b, at)
}

// nextLine returns the offset after the end of line at offset at: one of LF, CR,
// CR LF, NUL.
func nextLine(b []byte, at int) int {
	if at+1 < len(b) && b[at] == '\r' && b[at+1] == '\n' {
		at++
	}
	return min(at+1, len(b))
}

// nextEnd returns the offset of the first end of line from at on.
func nextEnd(b []byte, at int) int {
	for at < len(b) && !isEnd(b[at]) {
		at++
	}
	return at
}

func skipBlanks(b []byte, at int) int {
	for at < len(b) && isBlank(b[at]) {
		at++
	}
	return at
}

func isQuote(x byte) bool { return x == '"' || x == '\'' || x == '`' }

// isSeparator reports whether b starts with a mark that separates a name from its value.
// A minus is one only before a blank or in an arrow, because values begin with it, too.
func isSeparator(b []byte) bool {
	switch b[0] {
	case ':', '=', '>', ',', '|':
		return true
	case '-':
		return len(b) > 1 && (b[1] == '>' || b[1] == '-' || isBlank(b[1]) || isEnd(b[1]))
	}
	return false
}

// closingLen returns the length of what b starts with that can be attached to the end
// of a name: a mark that closes what opened before it, emphasis, a colour code. A
// letter after ^ or & may begin the value.
func closingLen(b []byte) int {
	switch x := b[0]; {
	case isQuote(x) || bytes.IndexByte([]byte(")]}*\\"), x) >= 0:
		return 1
	case isBlank(x), (x == '^' || x == '&') && (len(b) < 2 || !isDigit(b[1])):
		return 0
	}
	return colourLen(b)
}
