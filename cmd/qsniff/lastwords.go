package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"qsniff/capture/pcapfilter"
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
	expr, parseErr := pcapfilter.Parse(text)
	if own, ok := translateTcpdump(expr); ok {
		if _, err := h.opts.compile(own, reg); err == nil {
			h.opts.display.words = own
			return nil
		}
	}
	if parseErr == nil && expr.Root != nil {
		h.opts.addCaptureFilter(text)
		return nil
	}
	var wrong *filter.Error
	isOneName := len(words) == 1 && !strings.ContainsAny(text, "=<>!&|~(){}\" ")
	switch errors.As(err, &wrong); {
	case looksLikeTcpdump(text):
		return captureFilterError(parseErr)
	case isOneName && strings.HasPrefix(wrong.Hint, "did you mean"):
		return h.refuse(text+": no such file, and as a filter: "+wrong.Message, wrong.Hint)
	case isOneName:
		h.words = 0 // the error is that of a file
		return nil
	}
	return filterError(err)
}

// takeCaptureWords makes words after the captures a capture filter, for commands that choose no messages.
func (h *habitState) takeCaptureWords(words []string) error {
	text := strings.Join(words, " ")
	_, err := pcapfilter.Parse(text)
	switch {
	case err == nil:
		h.words = len(words)
		h.opts.addCaptureFilter(text)
	case looksLikeTcpdump(text):
		return captureFilterError(err)
	case len(h.files) > 0:
		return h.refuse(words[0]+": no such file, and no filter of tcpdump", "name captures that exist, or a filter such as udp port 27015")
	}
	return nil
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
func translateTcpdump(e *pcapfilter.Expr) (own string, ok bool) {
	if e == nil || e.Root == nil {
		return "", false
	}
	return translateNode(e.Root)
}

func translateNode(n pcapfilter.Node) (own string, ok bool) {
	both := func(x pcapfilter.Node, op string, y pcapfilter.Node) (string, bool) {
		left, ok1 := translateNode(x)
		right, ok2 := translateNode(y)
		return fmt.Sprintf("(%s %s %s)", left, op, right), ok1 && ok2
	}
	switch n := n.(type) {
	case *pcapfilter.And:
		return both(n.X, "and", n.Y)
	case *pcapfilter.Or:
		return both(n.X, "or", n.Y)
	case *pcapfilter.Not:
		own, ok = translateNode(n.X)
		return "not (" + own + ")", ok
	case *pcapfilter.Proto:
		own = map[string]string{"udp": "udp", "tcp": "tcp", "ip": "ip", "ip6": "ipv6"}[n.Name]
		return own, own != ""
	case *pcapfilter.Match:
		return translateMatch(n)
	}
	return "", false
}

// translateMatch returns the comparison with a value.
func translateMatch(m *pcapfilter.Match) (own string, ok bool) {
	family, isKnown := map[string]string{"": "", "ip": "ip and ", "ip6": "ipv6 and ", "udp": "udp and ", "tcp": "tcp and "}[m.Proto]
	dirs, isSimple := map[string][2]string{"": {"addr", "port"}, "src or dst": {"addr", "port"}, "src": {"src", "srcport"}, "dst": {"dst", "dstport"}}[m.Dir]
	if !isKnown || !isSimple || m.Type == "proto" {
		return "", false
	}
	if m.Net.IsValid() {
		value := m.Net.String()
		switch {
		case m.Net.IsSingleIP():
			value = m.Net.Addr().String()
		case m.Net.Addr().Is4() && m.Mask != ^uint32(0)<<(32-m.Net.Bits()):
			return "", false
		}
		return fmt.Sprintf("(%s%s == %s)", family, dirs[0], value), true
	}
	test := fmt.Sprintf(" == %d", m.Lo)
	if m.Type == "portrange" {
		test = fmt.Sprintf(" in {%d..%d}", m.Lo, m.Hi)
	}
	switch transport := map[uint32]string{6: "tcp", 17: "udp"}[m.Transport]; {
	case m.Proto != "":
		return m.Proto + "." + dirs[1] + test, true
	case m.Transport == 0:
		return fmt.Sprintf("(udp.%s%s or tcp.%s%s)", dirs[1], test, dirs[1], test), true
	default:
		return transport + "." + dirs[1] + test, transport != ""
	}
}
