package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"qsniff/internal/test/netns"
	"qsniff/internal/test/timing"
)

// service is a webhook in a namespace.
type service struct {
	mu     sync.Mutex
	bodies []string
}

// serveHook starts a service at an address.
func serveHook(t *testing.T, ns *netns.Namespace, at string) *service {
	t.Helper()
	var l net.Listener
	var err error
	ns.Do(func() { l, err = net.Listen("tcp", at) })
	if err != nil {
		t.Fatal(err)
	}
	s := &service{}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.bodies = append(s.bodies, r.URL.Path+" "+string(b))
	})}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return s
}

func (s *service) got() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.bodies, "\n")
}

// floodFor sends what is an incident, from one source.
func floodFor(t *testing.T, clients *netns.Namespace) {
	t.Helper()
	conn := clients.Dial(t, gameAddr)
	for range 50 {
		flow(t, conn, 100, 0)
		time.Sleep(50 * time.Millisecond)
	}
}

// expectNoneIgnored asks that a program which wrote its SigIgn of proc(5) to a file ignores no
// signal. 32 and 33 are glibc's own: whoever make started ignores them.
func expectNoneIgnored(t *testing.T, name string) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var mask uint64
	if n, err := fmt.Sscanf(string(b), "SigIgn: %x", &mask); n != 1 || mask&^(1<<31|1<<32) != 0 {
		t.Errorf("the program ignores signals: %s, %v", b, err)
	}
}

// eventsIn returns the events in a file of JSON lines by their threads, and checks each line.
func eventsIn(t *testing.T, name string) map[string]string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(b)) {
		var x struct {
			Record, Thread, Event, Target string
			ID                            int
		}
		if err := json.Unmarshal([]byte(line), &x); err != nil || x.Record != "incident" || x.Target != "udp/"+gameAddr || x.ID == 0 {
			t.Errorf("%v in %s", err, line)
		}
		all[x.Thread] += x.Event + " "
	}
	return all
}

// TestLiveTells: an incident is one thread in a file, at a service and for a program, from a process
// in a sandbox of its own, and no secret is printed.
func TestLiveTells(t *testing.T) {
	t.Parallel()
	server, clients := cable(t)
	server.RunIP(t, "link set lo up")
	server.Serve(t, gameAddr, func([]byte) [][]byte { return nil })
	hook := serveHook(t, server, serverIP+":8080")
	for _, withProgram := range []bool{false, true} {
		dir := t.TempDir()
		at := func(name string) string { return filepath.Join(dir, name) }
		secrets := fmt.Sprintf("# mine\ndiscord http://%s:8080/SECRET-%v\n", serverIP, withProgram)
		if err := os.WriteFile(at("hooks"), []byte(secrets), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at("hook.sh"), []byte("#!/bin/sh\necho $QSNIFF_THREAD $QSNIFF_EVENT $QSNIFF_PORT >> "+at("run")+"\ngrep SigIgn /proc/$$/status > "+at("signals")+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		args := []string{"-o", "none", "--tell", at("out.jsonl"), "--webhooks", at("hooks")}
		if withProgram {
			args = append(args, "--on-incident-exec", at("hook.sh"))
		}
		s := sniff(t, server, args...)
		floodFor(t, clients)
		status, _ := s.end(t, os.Interrupt)
		said := s.said()
		events := eventsIn(t, at("out.jsonl"))
		for thread, list := range events {
			if !strings.HasPrefix(list, "open ") || !strings.HasSuffix(list, "close ") {
				t.Errorf("thread %s: %s", thread, list)
			}
			for _, want := range []string{"New\\\\:", "Over\\\\:"} {
				if !strings.Contains(hook.got(), want) || !strings.Contains(hook.got(), `"text":"`+thread+`"`) {
					t.Errorf("no %s of %s at the service: %s", want, thread, hook.got())
				}
			}
			if ran, _ := os.ReadFile(at("run")); withProgram && !strings.Contains(string(ran), thread+" open 27015\n"+thread+" close 27015\n") {
				t.Errorf("the program printed %s", ran)
			}
		}
		if status != exitOK || len(events) == 0 || strings.Contains(said, "SECRET") || !strings.Contains(said, "told discord at "+serverIP+": 2 notes\n") {
			t.Errorf("status %d, %d threads\n%s", status, len(events), said)
		}
		if withProgram {
			expectNoneIgnored(t, at("signals"))
		}
		isFree := strings.Contains(said, "its sandbox: none: it starts programs")
		if isFree != withProgram || !withProgram && !strings.Contains(said, "its sandbox: capabilities dropped") {
			t.Errorf("with a program: %v\n%s", withProgram, said)
		}
	}
}

// TestTellErrors: what cannot be told is an error before the run, and no secret is in it.
func TestTellErrors(t *testing.T) {
	t.Parallel()
	server, _ := cable(t)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, x := range map[string]struct {
		text string
		mode os.FileMode
	}{"open": {"slack https://x/SECRET\n", 0o644}, "wrong": {"slack\tSECRET\n", 0o600}, "empty": {"", 0o600}} {
		if err := os.WriteFile(at(name), []byte(x.text), x.mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("empty", at("link")); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"--tell", at("link")}, exitFailed, "is no regular file"},
		{[]string{"--tell", at("nowhere/a")}, exitFailed, "no such folder"},
		{[]string{"--webhooks", at("open")}, exitFailed, at("open") + ": everybody may read it"},
		{[]string{"--webhooks", at("wrong")}, exitFailed, at("wrong") + ": line 1: the second word is no address"},
		{[]string{"--webhooks", at("nowhere")}, exitFailed, at("nowhere") + ": no such file"},
		{[]string{"--on-incident-exec", at("empty")}, exitFailed, "is no program"},
		{[]string{"--webhook-every", "1ms", "--tell", at("a")}, exitUsage, "at least 1s"},
		{[]string{"--tell-files", "-1", "--tell", at("a")}, exitUsage, "--tell-files -1"},
	} {
		s := sniff(t, server, tc.args...)
		status, _ := s.end(t, nil)
		if status != tc.status || !strings.Contains(s.said(), tc.want) || strings.Contains(s.said(), "SECRET") {
			t.Errorf("%v: status %d: %s\nwant %d: %s", tc.args, status, s.said(), tc.status, tc.want)
		}
	}
}

// TestMessengerOutlivesSignals: what is to be told when a run is killed is told.
func TestMessengerOutlivesSignals(t *testing.T) {
	t.Parallel()
	server, clients := cable(t)
	server.Serve(t, gameAddr, func([]byte) [][]byte { return nil })
	dir := t.TempDir()
	name := filepath.Join(dir, "out.jsonl")
	s := sniff(t, server, "-o", "none", "--tell", name)
	child := childOf(t, s.cmd.Process.Pid)
	if out, err := exec.Command("kill", "-TERM", child).CombinedOutput(); err != nil { // as of a service
		t.Fatalf("%v: %s", err, out)
	}
	floodFor(t, clients)
	s.end(t, os.Kill)
	timing.Await(t, "the end of the other process", func() bool { _, err := os.Stat("/proc/" + child + "/exe"); return err != nil })
	if events := eventsIn(t, name); len(events) != 1 {
		t.Errorf("%v\n%s", events, s.said())
	}
}

// childOf returns the number of the process that another one started.
func childOf(t *testing.T, pid int) string {
	t.Helper()
	var found string
	timing.Await(t, "the other process", func() bool {
		lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
		for _, list := range lists {
			b, _ := os.ReadFile(list)
			found += strings.TrimSpace(string(b))
		}
		return found != ""
	})
	return found
}
