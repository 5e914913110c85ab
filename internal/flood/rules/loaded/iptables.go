package loaded

import (
	"bufio"
	"bytes"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"qsniff/internal/flood/advice"
)

// parseIPTables returns what the chains of qsniff have counted, of the texts that "iptables-save -c" and
// "ip6tables-save -c" print. Chains that no hook calls any more are not loaded.
func parseIPTables(texts map[string][]byte) *Table {
	t, s, form := new(Table), newSums(), fnv.New64a()
	var undo []string
	for _, tool := range ipTools {
		table := ""
		for lines := bufio.NewScanner(bytes.NewReader(texts[tool])); lines.Scan(); {
			line := lines.Text()
			if name, isTable := strings.CutPrefix(line, "*"); isTable {
				table = name
				continue
			}
			r, isRule := parseIPRule(line)
			if !isRule {
				continue
			}
			if isHook := slices.Contains(ipHooks, r.chain); isHook && r.to == advice.IPTablesChain {
				undo = append(undo, fmt.Sprintf("sudo %s -t %s -D %s -j %s", tool, table, r.chain, r.to))
			}
			in := advice.NameOfIPTables(r.chain)
			if in == "" {
				continue
			}
			_, text, _ := strings.Cut(line, "]")
			fmt.Fprintln(form, tool, text)
			s.add(in+tool, r.comment, withTool(advice.NameOfIPTables(r.to), tool), r.packets, r.to == "DROP")
			if r.until != 0 {
				t.Expires = max(t.Expires, r.until)
			}
		}
	}
	if len(undo) == 0 {
		return t
	}
	t.IsLoaded, t.Undo, t.Targets, t.Handle = true, strings.Join(undo, "; "), s.list(), form.Sum64()
	return t
}

// withTool keeps the chains of both tools apart, which may have one name.
func withTool(chain, tool string) string {
	if chain == "" {
		return ""
	}
	return chain + tool
}

// ipTools are the tools whose rules are read, and ipHooks the chains that call those of qsniff.
var (
	ipTools = []string{"iptables", "ip6tables"}
	ipHooks = []string{"PREROUTING", "POSTROUTING"}
)

// ipRule is a rule as iptables-save prints it, as far as it is read.
type ipRule struct {
	chain, to, comment string
	packets            uint64
	until              int64 // Unix seconds; 0: always
}

// parseIPRule parses a line like: [12:345] -A QSNIFF -d 192.0.2.1/32 -m comment --comment "a b" -j QSNIFF1
func parseIPRule(line string) (r ipRule, isRule bool) {
	count, rest, isRule := strings.Cut(line, "] -A ")
	packets, _, hasBytes := strings.Cut(strings.TrimPrefix(count, "["), ":")
	n, err := strconv.ParseUint(packets, 10, 64)
	if !isRule || !hasBytes || err != nil {
		return r, false
	}
	r.packets = n
	if before, after, isQuoted := strings.Cut(rest, ` --comment "`); isQuoted {
		r.comment, after, _ = strings.Cut(after, `"`)
		rest = before + after
	}
	words := strings.Fields(rest)
	if len(words) > 0 {
		r.chain = words[0]
	}
	for i, w := range words[:max(len(words)-1, 0)] {
		switch w {
		case "-j":
			r.to = words[i+1]
		case "--datestop":
			if at, err := time.Parse("2006-01-02T15:04:05", words[i+1]); err == nil {
				r.until = at.Unix()
			}
		}
	}
	return r, true
}
