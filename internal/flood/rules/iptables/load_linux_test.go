package iptables

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"qsniff/internal/flood/rules"
	"qsniff/internal/test/floodtest"
	"qsniff/internal/test/netns"
	"qsniff/internal/test/timing"
)

// host is a namespace and a folder with one of the two kinds of iptables, under the names that
// scripts use.
type host struct {
	*netns.Namespace
	path string
}

// eachKind runs a test with the iptables on nftables and with the legacy one.
func eachKind(t *testing.T, test func(*testing.T, *host), addrs ...string) {
	for _, kind := range []string{"nft", "legacy"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			h := &host{netns.New(t), t.TempDir()}
			h.RunIP(t, "link set lo up")
			for _, a := range addrs {
				h.RunIP(t, "addr add "+a+" dev lo")
			}
			for _, tool := range []string{"iptables", "ip6tables"} {
				for _, end := range []string{"", "-restore", "-save"} {
					to, err := exec.LookPath(tool + "-" + kind + end)
					if err != nil {
						t.Skipf("%s-%s%s is not installed", tool, kind, end)
					}
					if err := os.Symlink(to, filepath.Join(h.path, tool+end)); err != nil {
						t.Fatal(err)
					}
				}
			}
			test(t, h)
		})
	}
}

// do runs a script.
func (h *host) do(t *testing.T, script string, args ...string) string {
	t.Helper()
	return h.Run(t, script, "env", append([]string{"PATH=" + h.path + ":" + os.Getenv("PATH"), "sh", "-s"}, args...)...)
}

const saveAll = "iptables-save -c; ip6tables-save -c\n"

// What differs between two lists of the same rules, and empty tables.
var (
	comments    = regexp.MustCompile(`(?m)^#.*\n`)
	emptyTables = regexp.MustCompile(`(?m)^\*\w+\n(:[A-Z]+ ACCEPT .*\n)+COMMIT\n`)
	changing    = regexp.MustCompile(`\[\d+:\d+\]|--date\w+ \S+`)
)

// list returns all rules, without that.
func (h *host) list(t *testing.T) string {
	t.Helper()
	text := comments.ReplaceAllString(h.do(t, saveAll), "")
	return changing.ReplaceAllString(emptyTables.ReplaceAllString(text, ""), "")
}

// TestLoad: the script loads, and a second time changes nothing. Rules of another report
// replace them, rules of others stay, undo removes all, and check changes nothing.
func TestLoad(t *testing.T) {
	eachKind(t, func(t *testing.T, h *host) {
		script := func(f *rules.Input) string { return string(AppendFloods(nil, f)) }
		h.do(t, "iptables -t raw -A PREROUTING -s 10.0.0.1 -j ACCEPT")
		empty := h.list(t)
		f := floodtest.Report(t, time.Hour)
		h.do(t, script(f), "check")
		if got := h.list(t); got != empty {
			t.Errorf("after check:\n%s", got)
		}
		h.do(t, script(f))
		once := h.list(t)
		if n := strings.Count(once, "-j QSNIFF\n"); n != 3 {
			t.Errorf("%d jumps in\n%s", n, once)
		}
		h.do(t, script(f))
		if twice := h.list(t); twice != once {
			t.Errorf("loaded twice:\n%s\nonce:\n%s", twice, once)
		}
		other := floodtest.Report(t, 0)
		other.Incidents = other.Incidents[3:4]
		h.do(t, script(other))
		if got := h.list(t); strings.Contains(got, "198.51.100.") || !strings.Contains(got, "2001:db8::17") ||
			strings.Contains(got, "QSNIFF2") || !strings.Contains(got, "10.0.0.1") {
			t.Errorf("after rules of another report:\n%s", got)
		}
		h.do(t, script(f))
		h.do(t, script(f), "undo")
		if got := h.list(t); got != empty {
			t.Errorf("after undo:\n%s", got)
		}
		h.do(t, script(f))
		for _, m := range regexp.MustCompile(`(?m)^# +or: sudo (.*)$`).FindAllStringSubmatch(script(f), -1) {
			h.do(t, m[1])
		}
		if got := h.list(t); strings.Contains(got, "-j QSNIFF\n") {
			t.Errorf("after the lines that undo without a capture:\n%s", got)
		}
	})
}

// dropped returns how many packets the chains of qsniff dropped.
func (h *host) dropped(t *testing.T) (n int) {
	t.Helper()
	for _, m := range regexp.MustCompile(`(?m)^\[(\d+):\d+\] -A QSNIFF.* -j DROP$`).FindAllStringSubmatch(h.do(t, saveAll), -1) {
		k, _ := strconv.Atoi(m[1])
		n += k
	}
	return n
}

// TestExpiry: rules drop what they match until their time is over, and nothing after it.
func TestExpiry(t *testing.T) {
	eachKind(t, func(t *testing.T, h *host) {
		f := floodtest.Report(t, 5*time.Second)
		f.Incidents = f.Incidents[1:5]
		h.do(t, string(AppendFloods(nil, f)))
		flooded := func() int {
			h.Send(t, floodtest.Attacker, floodtest.Server, floodtest.Query, 10)
			return h.dropped(t)
		}
		if n := flooded(); n != 10 {
			t.Errorf("at first, %d of 10 packets of a named source were dropped", n)
		}
		timing.Await(t, "the end of the rules", func() bool {
			before := h.dropped(t)
			return flooded() == before
		})
		before := h.dropped(t)
		h.Send(t, floodtest.Attacker, "192.0.2.77:27015", floodtest.Query, 2500)
		if n := h.dropped(t); n != before {
			t.Errorf("after their time, the rules dropped %d", n-before)
		}
	}, "198.51.100.17/32", "203.0.113.7/32", "192.0.2.0/24")
}

// TestNewLimit: a new report replaces limits, though the kernel keeps a limit by its name
// while rules have it. The target may be a network.
func TestNewLimit(t *testing.T) {
	eachKind(t, func(t *testing.T, h *host) {
		f := floodtest.Report(t, time.Hour)
		f.Incidents = f.Incidents[4:5]
		h.do(t, string(AppendFloods(nil, f)))
		h.Send(t, floodtest.Attacker, "192.0.2.77:27015", floodtest.Query, 100)
		if n := h.dropped(t); n != 0 {
			t.Errorf("%d of 100 packets were dropped that are within the limit", n)
		}
		low := floodtest.LowLimit(t, f.Incidents[0].ID)
		h.do(t, string(AppendFloods(nil, low)))
		h.Send(t, floodtest.Attacker, "192.0.2.77:27015", floodtest.Query, 100)
		if n := h.dropped(t); n < 50 {
			t.Errorf("of 100 packets, a lower limit of a new report dropped %d", n)
		}
	}, "203.0.113.7/32", "192.0.2.0/24")
}
