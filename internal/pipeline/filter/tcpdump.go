package filter

import (
	"fmt"
	"slices"
	"strings"

	"qsniff/capture/pcapfilter"
)

// FromTcpdump returns an expression of tcpdump in qsniff's language, if it consists of
// host, net, port, portrange, src, dst, udp, tcp, ip, ip6, and, or, not and parentheses.
func FromTcpdump(e *pcapfilter.Expr) (own string, ok bool) {
	if e == nil || e.Root == nil {
		return "", false
	}
	return translateNode(e.Root)
}

// translateNode returns an expression below the root in qsniff's language, in parentheses where that is needed.
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
	dirs, isSimple := map[string][2]string{
		"":           {"addr", "port"},
		"src or dst": {"addr", "port"},
		"src":        {"src", "srcport"},
		"dst":        {"dst", "dstport"},
	}[m.Dir]
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

// tcpdumpWords precede values in expressions of tcpdump.
var tcpdumpWords = []string{"host", "net", "port", "portrange", "src", "dst", "udp", "tcp", "ip", "ip6", "icmp",
	"ether", "vlan", "greater", "less", "proto"}

// LooksLikeTcpdump reports whether one of tcpdump's words is followed by another word or a
// value, as never in qsniff's language, or stands for itself and is no field of qsniff's.
func LooksLikeTcpdump(text string) bool {
	all := strings.Fields(strings.NewReplacer("(", " ", ")", " ", "!", " ").Replace(text))
	for i, w := range all {
		if !slices.Contains(tcpdumpWords, w) {
			continue
		}
		if len(all) == 1 {
			return true
		}
		if i+1 < len(all) && words[all[i+1]] == "" && strings.Trim(all[i+1], "abcdefghijklmnopqrstuvwxyz0123456789.:/-") == "" {
			return true
		}
	}
	return false
}
