package sandbox

import (
	"errors"
	"io/fs"
	"testing"
)

func TestStatusString(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   Status
		want string
	}{
		{"nothing", Status{Missing: []string{"a sandbox (plan9)"}}, "none; not on this system: a sandbox (plan9)"},
		{"old kernel", Status{Capabilities: true, NoNewPrivs: true, NoDump: true,
			Missing: []string{"landlock (rules for files and ports)"}},
			"capabilities dropped, no new privileges, no core dumps; not on this system: landlock (rules for files and ports)"},
		{"everything", Status{Capabilities: true, Bounding: true, NoNewPrivs: true, NoDump: true, User: &User{UID: 1000, GID: 100},
			Landlock: 10, Files: true, TCP: true, UDP: true, Signals: true, Folders: 1, Ports: 2},
			"user 1000, capabilities dropped, no new privileges, no core dumps, files: 1 path, tcp: 2 ports, udp: none, no signals to others (landlock 10)"},
	} {
		if got := tc.in.String(); got != tc.want {
			t.Errorf("%s:\n got %q\nwant %q", tc.name, got, tc.want)
		}
	}
}

func TestError(t *testing.T) {
	err := error(&Error{Step: "/nowhere", Err: fs.ErrNotExist})
	if got, want := err.Error(), "sandbox: /nowhere: file does not exist"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error("the reason is lost")
	}
}
