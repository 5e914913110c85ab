package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"qsniff/internal/test/timing"
	"qsniff/internal/test/tmuxtest"
)

// TestFloodsScreen: on a terminal the page of floods -i is drawn each second, also while nothing comes, and has
// no line about the sandbox.
func TestFloodsScreen(t *testing.T) {
	t.Parallel()
	server, clients := cable(t)
	server.Serve(t, gameAddr, gameServer())
	screen := tmuxtest.Start(t, 80, 24, []string{"LANG=C.UTF-8"}, "clear; nsenter --net=/proc/"+server.ID()+"/ns/net qsniff floods --utc -i "+serverEnd)
	first := screen.WaitFor("Watching "+serverEnd+" since ", " packets a second", "Ctrl-C ends it", "No packets so far.")
	screen.WaitUntil("another second", func(now string) bool { return now != first && strings.Contains(now, "No packets so far.") })
	if strings.Contains(first, "sandbox") {
		t.Errorf("the page has the sandbox:\n%s", first)
	}
	conn := clients.Dial(t, gameAddr)
	timing.Await(t, "an attack", func() bool {
		for range 60 {
			if _, err := conn.Write([]byte(requests[0])); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(100 * time.Millisecond)
		return strings.Contains(screen.Screen(), "GOING ON since")
	})
	screen.WaitFor(": 0 packets a second", "PAUSED since") // nothing comes, and the page is drawn all the same
	screen.Keys("C-c")
	screen.WaitFor("Undo:", " packets captured in ")
}

// TestFloodsLive: floods -i appends a block when an attack is detected, and at Ctrl-C prints
// the whole report, which begins with how far it came and ends with the verdict. As JSON, an
// incident is a line, and --fail-on sets the status. --rules writes what nft takes once the attack is
// sure, and nothing before.
func TestFloodsLive(t *testing.T) {
	t.Parallel()
	server, clients := cable(t)
	server.Serve(t, gameAddr, gameServer())
	page := sniffWith(t, server, "floods", "--utc", "-f", "udp port 27015").collect()
	file := filepath.Join(t.TempDir(), "attack.nft")
	lines := sniffWith(t, server, "floods", "-o", "json", "--fail-on", "alert", "--rules", file, "--proven").collect()
	if _, err := os.Stat(file); err == nil {
		t.Error("rules without an attack")
	}
	conn := clients.Dial(t, gameAddr)
	cameIn := page.watch(func(_ int, text string) bool { return strings.Contains(text, "! alert FLOOD  flood_few at") })
	timing.Await(t, "an alert", func() bool { // some 600 queries a second
		for range 60 {
			if _, err := conn.Write([]byte(requests[0])); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(100 * time.Millisecond)
		return cameIn()
	})
	if status, _ := page.end(t, os.Interrupt); status != exitOK {
		t.Errorf("status %d: %s", status, page.said())
	}
	var text strings.Builder
	for _, l := range <-page.output {
		text.WriteString(l.text + "\n")
	}
	block, report, found := strings.Cut(text.String(), "\nInterrupted after ")
	if !found || !strings.HasPrefix(block, "\n ") || !strings.Contains(block, "\nflood_few  udp/"+gameAddr+"  a2s  alert  ") {
		t.Errorf("no block, or no interrupted report:\n%s", &text)
	}
	for _, want := range []string{"\n1 attack in ", "\nATTACK on udp/" + gameAddr + ", GOING ON since ", "\nDO     paste the lines below\n", "  sure   ", ", flood_few: ", "\nsudo nft -f - <<'END'\n", "\n    ip daddr @until1 udp dport 27015 counter jump target1 \\\n      comment \"flood_few at udp/" + gameAddr + "\"\n"} {
		if !strings.Contains(report, want) {
			t.Errorf("%q is not in\n%s", want, report)
		}
	}
	if strings.Contains(report, "FILE") || strings.Contains(report, "frame") {
		t.Errorf("names a file or a frame that is nowhere:\n%s", report)
	}
	if said := page.said(); !strings.Contains(said, " queries, ") || !strings.Contains(said, ", 1 incident; dropped: ") || strings.Contains(said, "next: ") {
		t.Errorf("said %s", said)
	}
	timing.Await(t, "the rules in their file", func() bool {
		b, _ := os.ReadFile(file)
		return strings.HasPrefix(string(b), "# Rules of qsniff for nftables, made from -i ") && strings.Contains(string(b), "\n# load:   sudo nft -f "+file+"\n") &&
			strings.Contains(string(b), "jump target1") && strings.Contains(string(b), "\tset proven4 {") && strings.HasSuffix(string(b), "}\n")
	})
	status, _ := lines.end(t, os.Interrupt)
	if said := lines.said(); !strings.Contains(said, "\nqsniff: load: sudo nft -f "+file+"\nqsniff: undo: sudo nft delete table inet qsniff\n") {
		t.Errorf("said %s", said)
	}
	all := <-lines.output
	if status != exitFailOnReached || len(all) != 2 || !strings.HasPrefix(all[0].text, `{"schema":2,"record":"incident",`) || !strings.HasPrefix(all[1].text, `{"schema":1,"record":"interrupted",`) {
		t.Errorf("status %d, lines %v, said %s", status, all, lines.said())
	}
}
