package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"qsniff/internal/test/netns"
	"qsniff/internal/test/timing"
	"qsniff/internal/test/tmuxtest"
)

// TestRulesLoaded: top and monitor see a flood before the firewall, and show what the rules do that were loaded
// from the file which top wrote: how much they drop, and that they are loaded. Nothing is shown of rules before.
func TestRulesLoaded(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("nft"); err != nil {
		t.Skip("nft is not installed")
	}
	server, clients := cable(t)
	server.RunIP(t, "link set lo up")
	server.Serve(t, gameAddr, gameServer())
	folder := t.TempDir()
	file := filepath.Join(folder, "attack.nft")
	screen := tmuxtest.Start(t, 160, 40, []string{"LANG=C.UTF-8", "XDG_CONFIG_HOME=" + folder},
		"cd "+folder+"; clear; nsenter --net=/proc/"+server.ID()+"/ns/net qsniff top --utc -i "+serverEnd+" --rules "+file)
	const listen = "127.0.0.1:9477"
	server.Start(t, exec.Command("qsniff", "monitor", "-i", serverEnd, "--listen", listen))
	timing.Await(t, "the metrics", func() bool { return strings.Contains(scrape(server, listen), "\nqsniff_rules_loaded 0\n") })
	screen.WaitFor(serverEnd)

	conn := clients.Dial(t, gameAddr)
	flood := func() {
		t.Helper()
		for range 60 {
			if _, err := conn.Write([]byte(requests[0])); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	timing.Await(t, "rules in their file", func() bool { flood(); _, err := os.Stat(file); return err == nil })
	if shown := screen.Screen(); strings.Contains(shown, "Your rules") {
		t.Errorf("shows rules that are not loaded:\n%s", shown)
	}
	server.Run(t, "", "nft", "-f", file)
	drops := regexp.MustCompile(`Your rules, loaded \d+ s ago, drop (\d+)`)
	timing.Await(t, "the rules on the screen", func() bool {
		flood()
		found := drops.FindStringSubmatch(screen.Screen())
		if found == nil {
			return false
		}
		share, err := strconv.Atoi(found[1])
		return err == nil && share >= 80 // the source is named, or has a limit
	})
	t.Logf("the screen:\n%s", screen.Screen())
	dropped := regexp.MustCompile(`(?m)^qsniff_rules_packets_total\{server="` + regexp.QuoteMeta(gameAddr) + `",transport="udp",verdict="dropped"\} (\d+)$`)
	timing.Await(t, "the rules in the metrics", func() bool {
		text := scrape(server, listen)
		found := dropped.FindStringSubmatch(text)
		return found != nil && found[1] != "0" && strings.Contains(text, "\nqsniff_rules_loaded 1\n") && strings.Contains(text, "\nqsniff_rules_loaded_timestamp_seconds 1")
	})
	timing.Await(t, "the rules on the page", func() bool {
		flood()
		return strings.Contains(scrapePath(server, listen, "/report.json"), "Your rules, loaded ")
	})
	server.Run(t, "", "nft", "delete", "table", "inet", "qsniff")
	timing.Await(t, "the end of the rules", func() bool {
		flood()
		return !strings.Contains(screen.Screen(), "Your rules") && strings.Contains(scrape(server, listen), "\nqsniff_rules_loaded 0\n")
	})
}

// scrape returns the metrics of a monitor in a namespace, empty while there are none.
func scrape(ns *netns.Namespace, at string) string { return scrapePath(ns, at, "/metrics") }

// scrapePath returns what a monitor in a namespace serves, empty while it does not.
func scrapePath(ns *netns.Namespace, at, path string) (text string) {
	ns.Do(func() {
		conn, err := net.Dial("tcp", at)
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprintf(conn, "GET %s HTTP/1.0\r\nHost: %s\r\n\r\n", path, at)
		b, _ := io.ReadAll(io.LimitReader(conn, 1<<20)) // what is cut has no figure
		text = string(b)
	})
	return text
}
