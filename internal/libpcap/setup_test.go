// Package libpcap tests the script by which make sees to libpcap, with stand-ins for
// the programs that it calls. Nothing is installed.
package libpcap

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// programs stand in for those of a machine. Each that is called with an argument notes
// that in the file log; apt-get makes pcap.h, which the compiler looks for.
var programs = map[string]string{
	"go":      `case $2 in CC) echo gcc;; CGO_ENABLED) echo ${CGO_ENABLED:-$DEFAULT_CGO};; esac`,
	"gcc":     `test -e "$DIR/pcap.h"`,
	"id":      `echo $MY_UID`,
	"sudo":    `echo "sudo $*" >> "$DIR/log"; test "$1" = -n || exec sleep 600; test -n "$NO_PASSWORD" || exit 1; shift; exec "$@"`,
	"apt-get": `echo "apt-get $*" >> "$DIR/log"; test -z "$OFFLINE" || exit 100; case $1 in install) : > "$DIR/pcap.h";; esac`,
}

func TestSetup(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the script is for a Unix shell")
	}
	lacks := "--reader gopacket and the filters of live -f"
	if runtime.GOOS != "linux" {
		lacks = "--reader gopacket and live"
	}
	without := func(missing, packages string) string {
		return "qsniff: " + missing + " is missing, so this build is without cgo and lacks " + lacks +
			". To have them, as root: apt-get install " + packages + "\n"
	}
	const getting = "qsniff: pcap.h is missing: apt-get install libpcap-dev\n"
	for _, tc := range []struct {
		name    string
		env     string // what differs from root on a machine with a compiler
		lacks   string // a program that is not there
		headers bool   // are there before
		said    string
		log     string // what it called
		usable  bool   // after it
	}{
		{name: "all there", headers: true, usable: true},
		{name: "root", said: getting, log: "apt-get update -qq\napt-get install -y -qq libpcap-dev\n", usable: true},
		{name: "root offline", env: "OFFLINE=1", said: getting + without("pcap.h", "libpcap-dev"),
			log: "apt-get update -qq\napt-get install -y -qq libpcap-dev\n"},
		{name: "no sudo", env: "MY_UID=1000", lacks: "sudo", said: without("pcap.h", "libpcap-dev")},
		{name: "sudo asks for a password", env: "MY_UID=1000", said: without("pcap.h", "libpcap-dev"), log: "sudo -n true\n"},
		{name: "sudo asks for none", env: "MY_UID=1000 NO_PASSWORD=1", said: getting, usable: true,
			log: "sudo -n true\nsudo -n env DEBIAN_FRONTEND=noninteractive sh -c apt-get update -qq; apt-get install -y -qq libpcap-dev\n" +
				"apt-get update -qq\napt-get install -y -qq libpcap-dev\n"},
		{name: "no compiler", env: "DEFAULT_CGO=0", lacks: "gcc", said: without("a C compiler", "libpcap-dev gcc libc6-dev")},
		{name: "no cgo wanted", env: "CGO_ENABLED=0"},
		{name: "no package manager", lacks: "apt-get", said: strings.Replace(without("pcap.h", "the development files of libpcap and a C compiler"),
			"as root: apt-get install", "install", 1)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, tc.env, tc.lacks, tc.headers)
			if said, ok := m.setup(t, "get"); said != tc.said || !ok {
				t.Errorf("said, success %v\ngot  %s\nwant %s", ok, said, tc.said)
			}
			log, _ := os.ReadFile(filepath.Join(m.dir, "log")) // none is empty
			if string(log) != tc.log {
				t.Errorf("called\ngot  %s\nwant %s", log, tc.log)
			}
			if _, ok := m.setup(t, "usable"); ok != tc.usable {
				t.Errorf("usable\ngot  %v\nwant %v", ok, tc.usable)
			}
		})
	}
}

// machine is a folder with all programs that the script may call.
type machine struct {
	dir, sh string
	env     []string
}

func newMachine(t *testing.T, env, lacks string, headers bool) *machine {
	t.Helper()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell here")
	}
	m := &machine{dir: t.TempDir(), sh: sh}
	for name, body := range programs {
		if name == lacks {
			continue
		}
		if err := os.WriteFile(filepath.Join(m.dir, name), []byte("#!"+sh+"\n"+body+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"sh", "env", "cut", "true", "uname"} {
		tool, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(tool, filepath.Join(m.dir, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if headers {
		if err := os.WriteFile(filepath.Join(m.dir, "pcap.h"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m.env = append([]string{"PATH=" + m.dir, "DIR=" + m.dir, "MY_UID=0", "DEFAULT_CGO=1"}, strings.Fields(env)...)
	return m
}

// setup runs the script.
func (m *machine) setup(t *testing.T, what string) (said string, ok bool) {
	t.Helper()
	cmd := exec.Command(m.sh, "setup", what)
	cmd.Env = m.env
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}
