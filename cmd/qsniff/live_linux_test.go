package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"qsniff/capture/file"
	"qsniff/internal/test/responder"
	"qsniff/internal/test/timing"
)

// query precedes every datagram of the tests.
const query = "\xff\xff\xff\xff"

// gameServer answers with a challenge first. Each information reply has another number
// of players; the rules come in IP fragments.
func gameServer() func([]byte) [][]byte {
	asked := 0
	rules := query + "E\x64\x00"
	for i := range 100 {
		rules += fmt.Sprintf("sv_rule_number_%03d\x00value %d\x00", i, i)
	}
	return func(request []byte) [][]byte {
		asked++
		players := string([]byte{byte(asked % 251)})
		a := responder.A2S{Challenge: [4]byte{1, 2, 3, 4},
			Info:    [][]byte{[]byte(query + "I\x11Live\x00de_dust2\x00cstrike\x00CS\x00\xf0\x00" + players + "\xff\x00dl\x00\x011.0\x00")},
			Players: [][]byte{[]byte(query + "D\x01\x00Gordon\x00\x07\x00\x00\x00\x00\x00\x80\x3f")},
			Rules:   [][]byte{[]byte(rules)},
		}
		return a.Answer(request)
	}
}

// requests are what a client asks, before the challenge.
var requests = []string{query + "TSource Engine Query\x00", query + "U", query + "V"}

// poll asks everything there is to ask, with a challenge each, and returns the number
// of players it was told.
func poll(t *testing.T, conn net.Conn) (players int) {
	t.Helper()
	buf := make([]byte, 1<<16)
	ask := func(request string) []byte {
		if err := conn.SetDeadline(time.Now().Add(timing.Patience)); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write([]byte(request)); err != nil {
			t.Fatal(err)
		}
		n, err := conn.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		return buf[:n]
	}
	for i, r := range requests {
		none := "\xff\xff\xff\xff"
		if i == 0 {
			none = ""
		}
		challenge := ask(r + none)
		if reply := ask(r + string(challenge[5:])); i == 0 {
			players = int(reply[bytes.Index(reply, []byte("CS\x00\xf0\x00"))+5])
		}
	}
	return players
}

// TestLive: every exchange of real clients appears once, with the right numbers and
// soon, the same with both backends.
func TestLive(t *testing.T) {
	t.Parallel()
	server, clients := cable(t)
	server.Serve(t, gameAddr, gameServer())
	all := map[string]*sniffer{}
	for _, b := range backends() {
		all[b] = sniff(t, server, "--backend", b, "-o", "json").collect()
	}
	want := map[string]int{}
	for range 25 {
		conn := clients.Dial(t, gameAddr)
		want[conn.LocalAddr().String()] = poll(t, conn)
		time.Sleep(7 * time.Millisecond)
	}
	var first []string
	for _, b := range backends() {
		s := all[b]
		s.untilLines(t, 301) // with one that the server demands challenges
		status, _ := s.end(t, os.Interrupt)
		// On a busy machine it takes more than the 10 s after which the server's counts and lists contradict each other.
		lines := slices.DeleteFunc(<-s.output, func(l line) bool { return strings.Contains(l.text, `"record":"finding"`) })
		if status != exitOK {
			t.Errorf("%s: status %d: %s", b, status, s.said())
		}
		// 25 clients, 3 exchanges of 4 datagrams, the last of one in 2 fragments
		wanted := regexp.MustCompile(`\nqsniff: 325 packets captured in [0-9.]+ m?s: 300 messages, 0 incidents; dropped: 0 by the kernel, 0 by network cards\n`)
		if !wanted.MatchString(s.said()) {
			t.Errorf("%s: said\ngot  %s\nwant %s", b, s.said(), wanted)
		}
		messages := parse(t, lines)
		checkExchanges(t, messages, want)
		worst := time.Duration(0)
		for i := range messages {
			worst = max(worst, lines[i].at.Sub(messages[i].Time))
		}
		timing.CheckLimit(t, b+": from capture to output, at worst", worst, 100*time.Millisecond)
		same := withoutTimes(lines)
		if first == nil {
			first = same
		}
		if diff := cmp.Diff(first, same); diff != "" {
			t.Errorf("backends differ: %s -, %s +\n%s", backends()[0], b, diff)
		}
	}
}

// checkExchanges holds messages against what clients were told, by their address.
func checkExchanges(t *testing.T, messages []seen, want map[string]int) {
	t.Helper()
	got := map[string]int{}
	counts := map[string]int{}
	for _, m := range messages {
		if m.Message == nil || m.Status != "complete" || m.Exchange == nil {
			t.Errorf("a line that is no message of an exchange: %+v", m)
			continue
		}
		counts[*m.Message]++
		if *m.Message == "S2A_INFO_SRC" {
			got[m.Dst] = int(m.Fields["players"].(float64))
			if m.Exchange.RTT <= 0 {
				t.Errorf("answered after %v ms", m.Exchange.RTT)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("players: want -, got +\n%s", diff)
	}
	n := len(want)
	all := map[string]int{"A2S_INFO": 2 * n, "A2S_PLAYER": 2 * n, "A2S_RULES": 2 * n, "S2C_CHALLENGE": 3 * n,
		"S2A_INFO_SRC": n, "S2A_PLAYER": n, "S2A_RULES": n}
	if diff := cmp.Diff(all, counts); diff != "" {
		t.Errorf("messages: want -, got +\n%s", diff)
	}
}

// withoutTimes leaves out what two captures of the same packets may differ in.
func withoutTimes(lines []line) (all []string) {
	times := regexp.MustCompile(`"(time|rtt_ms|challenge_ms|frames_ms|after_ms)":("[^"]*"|[0-9.]+|\[[0-9.,]*\])`)
	for _, l := range lines {
		all = append(all, times.ReplaceAllString(l.text, ""))
	}
	return all
}

// TestLiveSilence: a reply that stays incomplete is given up, after 5 s, although no
// packet follows.
func TestLiveSilence(t *testing.T) {
	t.Parallel()
	server, clients := cable(t)
	part := []byte("\xfe\xff\xff\xff\x07\x00\x00\x00\x02\x00\xe0\x04" + query + "E\x02\x00mp_timelimit\x00")
	server.Serve(t, gameAddr, func([]byte) [][]byte { return [][]byte{part} })
	s := sniff(t, server, "-o", "json").collect()
	flow(t, clients.Dial(t, gameAddr), 1, 0)
	timing.Await(t, "a message that was given up", s.watch(func(_ int, text string) bool {
		return strings.Contains(text, `"status":"fragment"`)
	}))
	s.end(t, syscall.SIGTERM)
	<-s.output
}

// TestLiveNothing: where packets are only watched, too, it is said that there was
// nothing for qsniff among them.
func TestLiveNothing(t *testing.T) {
	timing.SkipUnlessLive(t)
	server, clients := cable(t)
	server.Listen(t, serverIP+":9999")
	for _, output := range []string{"none", "text"} {
		dir := t.TempDir()
		s := sniff(t, server, "-o", output, "-w", filepath.Join(dir, "q.pcap")).collect()
		conn := clients.Dial(t, serverIP+":9999")
		for range 20 {
			if _, err := conn.Write([]byte("a word of another protocol")); err != nil {
				t.Fatal(err)
			}
		}
		awaitPackets(t, dir, 20)
		status, _ := s.end(t, os.Interrupt)
		if want := "\nqsniff: no query traffic in 20 packets"; status != exitOK || !strings.Contains(s.said(), want) {
			t.Errorf("-o %s: status %d: %s\nwant %s", output, status, s.said(), want)
		}
	}
}

// flow sends n requests.
func flow(t *testing.T, conn net.Conn, n int, pause time.Duration) {
	t.Helper()
	for range n {
		if _, err := conn.Write([]byte(requests[0])); err != nil {
			t.Fatal(err)
		}
		if pause > 0 {
			time.Sleep(pause)
		}
	}
}

// TestLiveGivesUp: the process that decodes has no capability and cannot gain one.
func TestLiveGivesUp(t *testing.T) {
	server, _ := cable(t)
	s := sniff(t, server)
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", s.cmd.Process.Pid))
	if err != nil || len(threads) < 2 {
		t.Fatalf("%d threads: %v", len(threads), err)
	}
	for _, name := range threads {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it ended
		}
		for _, want := range []string{"CapEff:\t0000000000000000\n", "CapPrm:\t0000000000000000\n", "NoNewPrivs:\t1\n"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s has no %q", name, want)
			}
		}
	}
	s.collect()
	s.end(t, os.Interrupt)
}

// TestLiveSecondSignal: it ends the program at once, which would wait for its output to
// be read. Whether the second one comes while it waits depends on who else wants the
// processor, so there are several tries.
func TestLiveSecondSignal(t *testing.T) {
	t.Parallel()
	server, clients := cable(t)
	server.Serve(t, gameAddr, func([]byte) [][]byte { return nil })
	for range 20 {
		s := sniff(t, server, "-o", "json")
		flow(t, clients.Dial(t, gameAddr), 2000, 0)
		if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		time.Sleep(oneSignal + 50*time.Millisecond)
		status, took := s.end(t, os.Interrupt)
		if status == -1 {
			timing.CheckLimit(t, "the end after the second signal", took, lingering/2)
			return
		}
		t.Logf("status %d: %s", status, s.said())
	}
	t.Error("no second signal ended the program")
}

// TestLiveInterfaceGoes: the run fails with the name, after its summary.
func TestLiveInterfaceGoes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ command, want string }{
		{"link set " + serverEnd + " down", serverEnd + ": interface went down"},
		{"link del " + serverEnd, serverEnd + ": interface "}, // it goes down first
	} {
		for _, b := range backends() {
			server, clients := cable(t)
			server.Serve(t, gameAddr, gameServer())
			s := sniff(t, server, "--backend", b, "-o", "json").collect()
			poll(t, clients.Dial(t, gameAddr))
			server.RunIP(t, tc.command)
			status, _ := s.end(t, nil)
			if n := len(<-s.output); n != 13 { // 12 messages, and that the server demands challenges
				t.Errorf("%s: %d lines, want 13", b, n)
			}
			summary := strings.Index(s.said(), "13 packets captured")
			if status != exitFailed || summary < 0 || strings.Index(s.said(), tc.want) < summary {
				t.Errorf("%s: %s: status %d\n%s", b, tc.command, status, s.said())
			}
		}
	}
}

// TestLiveReopens: with --reopen the run goes on when its interface is back, and says both.
func TestLiveReopens(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		server, clients := cable(t)
		server.Serve(t, gameAddr, gameServer())
		s := sniff(t, server, "--backend", b, "-o", "json", "--reopen").collect()
		poll(t, clients.Dial(t, gameAddr))
		server.RunIP(t, "link set "+serverEnd+" down")
		timing.Await(t, "that it is said", func() bool { return strings.Contains(s.said(), "interface went down: waiting for it\n") })
		server.RunIP(t, "link set "+serverEnd+" up")
		timing.Await(t, "that it is back", func() bool { return strings.Contains(s.said(), serverEnd+": captured again\n") })
		if status, _ := s.end(t, os.Interrupt); status != exitOK || strings.Count(s.said(), serverEnd+": ") != 2 {
			t.Errorf("%s: status %d\n%s", b, status, s.said())
		}
	}
}

// TestLiveErrors: what is wrong with interfaces and filters is reported before the run.
func TestLiveErrors(t *testing.T) {
	t.Parallel()
	server, _ := cable(t)
	server.RunIP(t, "link add down0 type veth peer name down1")
	for _, tc := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"-i", "nope0"}, exitFailed, "qsniff: nope0: no such interface\n  hint: there are"},
		{[]string{"-i", "down0"}, exitFailed, "qsniff: down0: interface is down\n  hint: sudo ip link set down0 up\n"},
		{[]string{"-f", "udp prt 1", "--backend", "libpcap"}, exitUsage, `qsniff: -f: "prt" is no word of tcpdump's language`},
		{[]string{"-f", "mpls", "--backend", "afpacket"}, exitUsage, `"mpls" is a word of tcpdump that only libpcap compiles`},
		{[]string{"-w", "/nonexistent/q.pcap"}, exitFailed, "qsniff: /nonexistent/q.pcap: "},
	} {
		if !file.HasLibpcap && strings.Contains(strings.Join(tc.args, " "), "libpcap") {
			continue
		}
		s := sniff(t, server, tc.args...)
		status, _ := s.end(t, nil)
		if status != tc.status || !strings.Contains(s.said(), tc.want) {
			t.Errorf("%v: status %d: %s\nwant %d: %s", tc.args, status, s.said(), tc.status, tc.want)
		}
	}
}

// TestLiveReports: every command that reports at the end of captures does so of interfaces, at
// Ctrl-C, about all that its clients asked until then.
func TestLiveReports(t *testing.T) {
	t.Parallel()
	server, clients := cable(t)
	server.Serve(t, gameAddr, gameServer())
	const messages, packets = ": 12 messages; dropped: 0 by the kernel", "13 packets captured in "
	reports := []struct {
		command string
		page    []string // what it has
		said    string   // of what was found
	}{
		{"stats", []string{"13 packets, ", " captured; 12 messages: 6 requests, 6 replies", "\n  " + gameAddr + " "}, messages},
		{"stats -o json", []string{`{"schema":1,"packets":13,`}, messages},
		{"findings", []string{"\n  chat      A2S-S01 "}, messages},
		{"findings -o json", []string{`"id":"A2S-S01"`}, messages},
		{"exchanges", []string{" A2S_INFO  ", " A2S_PLAYER  ", " A2S_RULES  "}, messages},
		{"follow", []string{"A2S_INFO  ", `map="de_dust2"`, "A2S_RULES  "}, messages},
		{"proven", []string{"1 address proved to be real, "}, ": 6 queries, 6 replies; dropped: 0 by the kernel"},
		{"polls -Y a2s", []string{"0 of 3 polls got no answer in time, of 1 client"}, messages},
	}
	all := make([]*sniffer, len(reports))
	for i, r := range reports {
		words := strings.Fields(r.command)
		all[i] = sniffWith(t, server, words[0], append(words[1:], "-f", "udp")...).collect()
	}
	seen := sniff(t, server, "-o", "json", "-f", "udp").collect()
	poll(t, clients.Dial(t, gameAddr))
	seen.untilLines(t, 13) // with one that the server demands challenges
	for i, r := range reports {
		s := all[i]
		status, _ := s.end(t, os.Interrupt)
		var page strings.Builder
		for _, l := range <-s.output {
			page.WriteString("\n" + l.text)
		}
		said := s.said()
		for _, want := range r.page {
			if !strings.Contains(page.String()+said, want) {
				t.Errorf("%s: %q is not in\n%s\nsaid %s", r.command, want, &page, said)
			}
		}
		if status != exitOK || !strings.Contains(said, packets) || !strings.Contains(said, r.said) || strings.Contains(page.String(), "nterrupted") {
			t.Errorf("%s: status %d, said %s\n%s", r.command, status, said, &page)
		}
	}
	seen.end(t, os.Interrupt)
	<-seen.output
}
