package contrib

import (
	"os"
	"strings"
	"testing"

	"qsniff/internal/test/binary"
	"qsniff/internal/test/netns"
	"qsniff/internal/test/timing"
)

// TestLiveHubService: under its unit, the hub starts with the configuration that packages install and a secret
// that only root reads, runs its broker, leads, writes to its folder alone, reloads, and ends in order.
func TestLiveHubService(t *testing.T) {
	timing.SkipUnlessLive(t)
	const unit = "qsniff-hub.service"
	ns, _ := netns.NewCable(t, netns.End{Name: "hub0", IP: "198.18.0.1"}, netns.End{Name: "reader0", IP: "198.18.0.2"})
	ns.RunIP(t, "link set lo up")
	m := boot(t, ns, binary.Program(t, "qsniff-hub"), unit)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s\n%s\n%s", m.said(), m.systemctl("status", unit), m.out.String())
		}
	})
	property := func(name string) string { return m.systemctl("show", unit, "--value", "-p", name) }
	timing.Await(t, "the hub", func() bool { return property("ActiveState") == "active" }) // a reload before is part of the start
	timing.Await(t, "its figures", func() bool {
		return strings.Contains(get(t, ns, "http://127.0.0.1:9478/metrics"), "\nqsniff_hub_leads 1\n")
	})
	if log := m.said(); !strings.Contains(log, "capabilities dropped, no new privileges") {
		t.Errorf("its sandbox:\n%s", log)
	}
	if info, err := os.Stat(m.path("/var/lib/private/qsniff-hub")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder of the service: %v, %v", info, err)
	}
	if out := m.systemctl("reload", unit); out != "" {
		t.Errorf("reload: %s", out)
	}
	timing.Await(t, "a reload", func() bool { return strings.Contains(m.said(), "msg=reloaded") })
	m.systemctl("stop", unit)
	if state, result, n := property("ActiveState"), property("Result"), property("NRestarts"); state != "inactive" || result != "success" || n != "0" {
		t.Errorf("ended: %s, %s, %s restarts\n%s", state, result, n, m.said())
	}
	if !strings.HasSuffix(strings.TrimSpace(m.said()), "msg=end") {
		t.Errorf("the log does not end in order:\n%s", m.said())
	}
}
