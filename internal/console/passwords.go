package console

// Passwords are those that the ends of a connection showed so far. Servers repeat
// them: in a refusal, in their log, in the list of a variable whose name nobody knows.
// The zero value holds none; neither does nil, which nothing may be added to.
type Passwords struct {
	n, oldest uint8
	list      [maxPasswords]password
}

// password is a text to find, as plainText reads it, in lower case.
type password struct {
	n      uint8
	longer bool // the text goes on
	text   [maxPassword]byte
	// border is the length of the longest start of the text that ends at each byte of
	// it, too: where a comparison fails it goes on there, so that hostile texts cost
	// no more than others (Knuth, Morris, Pratt).
	border [maxPassword]uint8
}

// Add remembers a password. more says that the capture cut it.
func (p *Passwords) Add(text []byte, more bool) {
	w := password{longer: more}
	for at := 0; at < len(text); {
		x, n := plainByte(text[at:])
		at += n
		switch {
		case x == skipped:
		case w.n == maxPassword:
			w.longer, at = true, len(text)
		default:
			w.text[w.n] = byte(x)
			w.n++
		}
	}
	if w.n == 0 || w.longer && w.n < standAlone {
		return
	}
	for i := range p.list[:p.n] {
		if q := &p.list[i]; q.n == w.n && q.text == w.text && q.longer == w.longer {
			return
		}
	}
	for i, k := 1, uint8(0); i < int(w.n); i++ {
		for k > 0 && w.text[i] != w.text[k] {
			k = w.border[k-1]
		}
		if w.text[i] == w.text[k] {
			k++
		}
		w.border[i] = k
	}
	if p.n < maxPasswords {
		p.list[p.n] = w
		p.n++
		return
	}
	p.list[p.oldest] = w
	p.oldest = (p.oldest + 1) % maxPasswords
}

// find returns the first place of w in b, or -1, -1. A start of w at the end of b counts if
// it has least bytes, which is 0 where none does.
func (w *password) find(b []byte, least int) (lo, hi int) {
	var from [maxPassword]int // where the last bytes compared begin, as a ring
	k, count, first := uint8(0), 0, int16(w.text[0])
	for at := 0; at < len(b); {
		if k == 0 {
			for at < len(b) && folds[b[at]] != first && folds[b[at]] != mayStand {
				at++
			}
			if at == len(b) {
				break
			}
		}
		x, n := plainByte(b[at:])
		if x == skipped {
			at += n
			continue
		}
		from[count%maxPassword] = at
		count++
		at += n
		for k > 0 && w.text[k] != byte(x) {
			k = w.border[k-1]
		}
		if w.text[k] == byte(x) {
			k++
		}
		if k < w.n {
			continue
		}
		lo = from[(count-int(w.n))%maxPassword]
		switch {
		case w.longer:
			return lo, nextEnd(b, at)
		case w.n >= standAlone || !(lo > 0 && wordBytes[b[lo-1]] || at < len(b) && wordBytes[b[at]]):
			return lo, at
		}
		k = w.border[k-1]
	}
	if least > 0 && int(k) >= least {
		return from[(count-int(k))%maxPassword], len(b)
	}
	return -1, -1
}

// skipped stands for a backslash, which escapes what follows it.
const skipped = -1

// folds holds each byte in lower case, or mayStand for the bytes that others may be
// written with.
var folds = func() (t [256]int16) {
	for i := range t {
		t[i] = int16(fold(byte(i)))
	}
	t['\\'], t['%'], t['&'] = mayStand, mayStand, mayStand
	return
}()

// mayStand stands in folds for a byte that another may begin with.
const mayStand = -1

// plainByte returns the byte that b starts with, in lower case, and how many bytes it
// is written with. JSON, C, URLs and XML write some as others: \" and \u0022 and \x22,
// %22, &quot; and &#34;. A backslash before anything else is skipped, in texts as
// in passwords, so that one finds the other either way.
func plainByte(b []byte) (x, n int) {
	switch {
	case folds[b[0]] != mayStand:
	case b[0] == '\\':
		switch {
		case len(b) > 1 && b[1] == 'u' && hexLen(b[2:], 4) == 4 && b[2] == '0' && b[3] == '0':
			return int(fold(hexByte(b[4:]))), 6
		case len(b) > 1 && b[1] == 'x' && hexLen(b[2:], 2) == 2:
			return int(fold(hexByte(b[2:]))), 4
		}
		return skipped, 1
	case b[0] == '%' && hexLen(b[1:], 2) == 2:
		return int(fold(hexByte(b[1:]))), 3
	case b[0] == '&':
		return entity(b)
	}
	return int(fold(b[0])), 1
}

// entities are those of XML.
var entities = [...]struct {
	text string
	is   byte
}{{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}}

// entity is plainByte of an ampersand.
func entity(b []byte) (x, n int) {
	for _, e := range entities {
		if len(b) >= len(e.text) && equalFold(b[:len(e.text)], e.text) {
			return int(e.is), len(e.text)
		}
	}
	if len(b) > 3 && b[1] == '#' {
		v, i := 0, 2
		for ; i < len(b) && i < len("&#255") && isDigit(b[i]); i++ {
			v = v*10 + int(b[i]-'0')
		}
		if i > 2 && i < len(b) && b[i] == ';' && v < 256 {
			return int(fold(byte(v))), i + 1
		}
	}
	return int(b[0]), 1
}

// fold returns an ASCII letter in lower case, another byte as it is.
func fold(x byte) byte {
	if x >= 'A' && x <= 'Z' {
		return x | 0x20
	}
	return x
}

// hexByte returns the byte that the two hexadecimal digits at the start of b say.
func hexByte(b []byte) byte { return digit(b[0])<<4 | digit(b[1]) }

func digit(x byte) byte {
	if isDigit(x) {
		return x - '0'
	}
	return x | 0x20 - 'a' + 10
}
