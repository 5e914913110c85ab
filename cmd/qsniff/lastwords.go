package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"qsniff/internal/base/shell"
	"qsniff/internal/pipeline/filter"
)

// splitWords returns the captures among the words of a command line, and the words after
// them that may be an expression: those from the first word on that is no file, unless a
// file follows it. hasFiles reports whether -r named captures.
func splitWords(args []string, hasFiles bool) (files, words []string) {
	first := len(args)
	for i, word := range args {
		_, err := os.Stat(word)
		isFile := err == nil || word == stdin
		switch {
		case isFile && first < len(args):
			return args, nil
		case !isFile && first == len(args) && (i > 0 || hasFiles):
			first = i
		case !isFile && first == len(args):
			return args, nil
		}
	}
	return args[:first], args[first:]
}

// takeWords makes words after the captures a filter: one of qsniff, or a simple one of
// tcpdump.
func (h *habitState) takeWords(words []string) error {
	text := strings.Join(words, " ")
	reg, err := newRegistry()
	if err != nil {
		return err
	}
	_, err = h.opts.compile(text, reg)
	if err == nil {
		h.opts.display.words = text
		return nil
	}
	if own, ok := translateTcpdump(text); ok {
		if _, err := h.opts.compile(own, reg); err == nil {
			h.opts.display.words = own
			return nil
		}
	}
	var wrong *filter.Error
	isOneName := len(words) == 1 && !strings.ContainsAny(text, "=<>!&|~(){}\" ")
	switch errors.As(err, &wrong); {
	case looksLikeTcpdump(text):
		return h.refuse("-f "+text+": only live has all filters of tcpdump, captures have simple ones", h.piped("tcpdump -r FILE -w - "+shell.Quote(text)))
	case isOneName && strings.HasPrefix(wrong.Hint, "did you mean"):
		return h.refuse(text+": no such file, and as a filter: "+wrong.Message, wrong.Hint)
	case isOneName:
		h.words = 0 // the error is that of a file
		return nil
	}
	return filterError(err)
}

// tcpdumpWords precede values in expressions of tcpdump.
var tcpdumpWords = []string{"host", "net", "port", "portrange", "src", "dst", "udp", "tcp", "ip", "ip6", "icmp", "ether", "vlan", "greater", "less", "proto"}

// looksLikeTcpdump reports whether one of tcpdump's words is followed by another word or a
// value, as never in qsniff's language, or stands for itself and is no field of qsniff's.
func looksLikeTcpdump(text string) bool {
	words := strings.Fields(strings.NewReplacer("(", " ", ")", " ", "!", " ").Replace(text))
	for i, w := range words {
		if !slices.Contains(tcpdumpWords, w) {
			continue
		}
		if len(words) == 1 {
			return true
		}
		if i+1 < len(words) && strings.Trim(words[i+1], "abcdefghijklmnopqrstuvwxyz0123456789.:/-") == "" && !slices.Contains(ownOperators, words[i+1]) {
			return true
		}
	}
	return false
}

// ownOperators are the words between comparisons, and in them, in qsniff's language.
var ownOperators = []string{"and", "or", "xor", "not", "in", "contains", "matches", "eq", "ne", "gt", "lt", "ge", "le", "any_eq", "all_eq", "any_ne", "all_ne"}

// translateTcpdump returns an expression of tcpdump in qsniff's language, if it consists of
// host, net, port, portrange, src, dst, udp, tcp, ip, ip6, and, or, not and parentheses.
func translateTcpdump(text string) (own string, ok bool) {
	text = strings.NewReplacer("(", " ( ", ")", " ) ", "!", " ! ", "&&", " and ", "||", " or ").Replace(text)
	t := &tcpdumpExpr{words: strings.Fields(text)}
	own, err := t.parse(0)
	return own, err == nil && len(t.words) == 0
}

// tcpdumpExpr is what is left of an expression of tcpdump.
type tcpdumpExpr struct {
	words []string
	last  tcpdumpKind // of the primitive before, which a value alone repeats
}

// tcpdumpKind is what a value stands for.
type tcpdumpKind struct{ proto, dir, what string }

var errTcpdump = errors.New("not a simple expression")

func (t *tcpdumpExpr) peek() string {
	if len(t.words) == 0 {
		return ""
	}
	return t.words[0]
}

func (t *tcpdumpExpr) next() string {
	w := t.peek()
	t.words = t.words[min(1, len(t.words)):]
	return w
}

// parse parses terms with "and" and "or" between them, which bind equally.
func (t *tcpdumpExpr) parse(depth int) (string, error) {
	const deepest = 50 // chosen: nobody nests parentheses as deep
	if depth > deepest {
		return "", errTcpdump
	}
	left, err := t.parseTerm(depth)
	for err == nil && (t.peek() == "and" || t.peek() == "or") {
		op, right := t.next(), ""
		if right, err = t.parseTerm(depth); err == nil {
			left = fmt.Sprintf("(%s %s %s)", left, op, right)
		}
	}
	return left, err
}

func (t *tcpdumpExpr) parseTerm(depth int) (string, error) {
	switch t.peek() {
	case "not", "!":
		t.next()
		own, err := t.parseTerm(depth + 1)
		return "not (" + own + ")", err
	case "(":
		t.next()
		own, err := t.parse(depth + 1)
		if t.next() != ")" {
			return "", errTcpdump
		}
		return own, err
	}
	return t.parsePrimitive()
}

// parsePrimitive parses [udp|tcp|ip|ip6] [src|dst] [host|net|port|portrange] VALUE, or udp,
// tcp, ip or ip6 alone.
func (t *tcpdumpExpr) parsePrimitive() (string, error) {
	var k tcpdumpKind
	if w := t.peek(); w == "udp" || w == "tcp" || w == "ip" || w == "ip6" {
		k.proto = t.next()
	}
	if w := t.peek(); w == "src" || w == "dst" {
		k.dir = t.next()
	}
	switch w := t.peek(); {
	case w == "host" || w == "net" || w == "port" || w == "portrange":
		k.what = t.next()
	case k.proto != "" && k.dir == "" && (w == "" || w == "and" || w == "or" || w == ")"):
		return map[string]string{"udp": "udp", "tcp": "tcp", "ip": "ip", "ip6": "ipv6"}[k.proto], nil
	case k.dir != "":
		k.what = "host"
	case k.proto == "" && t.last.what != "":
		k = t.last
	default:
		return "", errTcpdump
	}
	t.last = k
	return k.expression(t.next())
}

// expression returns the comparison with a value.
func (k tcpdumpKind) expression(value string) (string, error) {
	if value == "" || strings.ContainsAny(value, "()!\"'{},") {
		return "", errTcpdump
	}
	dir := map[string]string{"": "addr", "src": "src", "dst": "dst"}[k.dir]
	port := map[string]string{"": "port", "src": "srcport", "dst": "dstport"}[k.dir]
	family := map[string]string{"ip": "ip and ", "ip6": "ipv6 and "}[k.proto]
	if k.what == "host" || k.what == "net" {
		if k.proto == "udp" || k.proto == "tcp" {
			family = k.proto + " and "
		}
		return fmt.Sprintf("(%s%s == %s)", family, dir, value), nil
	}
	test := " == " + value
	if k.what == "portrange" {
		lo, hi, ok := strings.Cut(value, "-")
		if !ok {
			return "", errTcpdump
		}
		test = fmt.Sprintf(" in {%s..%s}", lo, hi)
	}
	if k.proto == "udp" || k.proto == "tcp" {
		return k.proto + "." + port + test, nil
	}
	return fmt.Sprintf("(%sudp.%s%s or %stcp.%s%s)", family, port, test, family, port, test), nil
}
