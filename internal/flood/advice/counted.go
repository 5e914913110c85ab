package advice

import (
	"slices"
	"strconv"
	"strings"
)

// The rules count what they do, for commands that show whether they help. The line of a hook
// counts all packets of a target and has a comment with the mark of its rules; in the target's chain each
// line counts what it sends to the chain with a limit, which counts what it drops.

// Beginnings of names: of the chain of a target, and of the set that holds it until its rules expire.
const (
	targetChain = "target"
	untilSet    = "until"
)

// longestMark is the length of a mark in bytes. nft takes comments of 128.
const longestMark = 120

// mark returns the comment of a hook's line: the kinds of incidents and the target, as output has them.
func (g group) mark() string {
	of := g[0]
	end := filterAddress(of.net)
	if port := of.target.Port(); port != 0 {
		if of.isIPv6 {
			end = "[" + end + "]"
		}
		end = map[bool]string{false: "udp/", true: "tcp/"}[of.isTCP] + end + ":" + strconv.Itoa(int(port))
	}
	var kinds []string
	for _, p := range g {
		if k := p.kind.String(); !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	for len(kinds) > 1 && len(strings.Join(kinds, ", "))+len(markBetween)+len(end) > longestMark {
		kinds = kinds[:len(kinds)-1]
	}
	return strings.Join(kinds, ", ") + markBetween + end
}

// markBetween stands between the kinds and the target of a mark.
const markBetween = " at "

// CutMark returns the parts of a mark, false if the text is none.
func CutMark(text string) (kinds, target string, isMark bool) {
	kinds, target, isMark = strings.Cut(text, markBetween)
	isIn := func(text, allowed string) bool { return text != "" && strings.Trim(text, allowed) == "" }
	const letters = "abcdefghijklmnopqrstuvwxyz"
	return kinds, target, isMark && len(text) <= longestMark && isIn(kinds, letters+"_, ") && isIn(target, letters+"0123456789.:/[]")
}

// ChainCount is what the kernel counted of a chain: packets that lines of the target's chain sent to it,
// and those of them that it dropped. Lines that drop by themselves have no chain, and an empty Name.
type ChainCount struct {
	Name          string
	Came, Dropped uint64
}

// IsTargetChain reports whether a chain has that of a target's name.
func IsTargetChain(name string) bool { return strings.HasPrefix(name, targetChain) }

// IsUntilSet reports whether a set has the name of those that hold targets until the rules expire.
func IsUntilSet(name string) bool { return strings.HasPrefix(name, untilSet) }

// SumCounts returns how many packets the rules of a target looked at, and how many of them they
// dropped. chains are those of the target, in the order of its lines. A packet may come to several of
// them, one after the other; a limit of all queries, or of all other packets, gets whatever the chains
// before it of the same sort have not dropped, and those after it get parts of that.
func SumCounts(chains []ChainCount) (looked, dropped uint64) {
	var named uint64
	var queries, others sortCount
	for _, c := range chains {
		dropped += c.Dropped
		switch l := lineOfChain(c.Name); {
		case c.Name == "":
			named += c.Dropped
		case l == lineJunk || l == lineStrangers:
			others.add(c, l == lineStrangers)
		default:
			queries.add(c, l == lineQueries || l == linePairs)
		}
	}
	return named + queries.came + others.came, dropped
}

// sortCount is the sum of chains that look at one sort of packets.
type sortCount struct {
	came, dropped uint64
	hasAll        bool // a chain that gets all of them was added
}

// add adds a chain. isAll: it gets all packets of its sort.
func (s *sortCount) add(c ChainCount, isAll bool) {
	switch {
	case s.hasAll:
	case isAll:
		s.came, s.hasAll = s.dropped+c.Came, true
	default:
		s.came += c.Came
		s.dropped += c.Dropped
	}
}

// lineOfChain returns which kind of lines a chain is for, by its name.
func lineOfChain(name string) lineKind {
	base := name
	if at := strings.IndexAny(name, "0123456789"); at >= 0 { // what follows is the number of its incident
		base = name[:at]
	}
	return lineKind(max(slices.Index(nftChainNames[:], base), 0))
}

// NameOfIPTables returns the name that a chain for iptables has in files for nft; empty: it is none of those of a
// target or its rules, nor the one that these are called from.
func NameOfIPTables(chain string) string {
	rest, isOwn := strings.CutPrefix(chain, IPTablesChain)
	id := strings.TrimRight(rest, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	if _, err := strconv.ParseUint(id, 10, 64); isOwn && rest == "" {
		return "pre"
	} else if !isOwn || err != nil {
		return ""
	}
	switch l := slices.Index(iptChainSuffixes[:], rest[len(id):]); {
	case rest == id:
		return targetChain + id
	case l < 0:
		return ""
	default:
		return nftChainNames[l] + id
	}
}
