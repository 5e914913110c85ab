// Package sandbox drops the rights that the running process does not need any more,
// so that an attacker who takes over the decoder of hostile packets has none of them:
// capabilities, new privileges, files, ports, other processes, core dumps.
//
// It is no jail for other programs and filters no system calls, and what has been
// dropped does not come back before the process ends. Handles that are open stay
// usable: the caller opens packet sockets, listeners and files that need privileges
// first, then calls Enter.
package sandbox

import (
	"os"
	"slices"
	"strconv"
	"strings"
)

// Policy is what a process still needs. The zero Policy needs nothing but what
// it has open.
type Policy struct {
	// Read are files and folders that are still to be opened for reading, with
	// everything below the folders. libpcap opens files, too: for the drops of a
	// promiscuous interface it reads /sys/class/net/IFACE/statistics each time.
	Read []string

	// Write are folders in which files are still to be created, written, renamed
	// within the folder and removed, and files that are to be opened for writing.
	// They cannot be read unless Read names them too.
	Write []string

	// Trees are folders in which, and in folders below, files and folders are still to be made, read,
	// written, renamed without leaving their folder, and removed: the store of a database.
	Trees []string

	// Bind and Connect are TCP ports still to be listened on and connected to.
	Bind, Connect []uint16

	// SendUDP are UDP ports still to be sent to, from sockets without a port of their own.
	SendUDP []uint16

	// Sockets are folders with sockets still to be connected to, in them or below: one that is
	// made anew has another identity than the one that was there.
	Sockets []string

	// Programs are files and folders with programs that may still be run, with their libraries: they can be
	// read, too. What is run has the rights that are left.
	Programs []string

	// NetAdmin keeps the right to read and change the network of this machine, for programs that are run, too.
	NetAdmin bool

	// User is the user that the process becomes; nil is no change. Only root can
	// change. Root without capabilities cannot write where only another user may: a
	// capture started with sudo in somebody's home has to become that user, whom
	// OwnerOf returns, to write its next file. Root's own files stay open to it
	// where the kernel has no rules for files.
	User *User
}

// User is a user with one group and no others.
type User struct{ UID, GID int }

// names is the port of servers of names, UDP and TCP.
const names = 53

// AllowNames adds what it takes to find hosts by their names. All of /etc is part of it: the file with the servers of
// names is replaced by another one when these change, to which a rule for the file itself would not apply.
func (p *Policy) AllowNames() {
	p.readExisting("/etc", "/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager", "/run/connman")
	p.Connect, p.SendUDP = append(p.Connect, names), []uint16{names}
}

// AllowFigures adds where the system shows CPU time and memory of this process.
func (p *Policy) AllowFigures() { p.readExisting("/proc/self", "/proc/stat") }

// readExisting adds those of the paths to Read that exist.
func (p *Policy) readExisting(paths ...string) {
	for _, path := range paths {
		if _, err := os.Stat(path); err == nil && !slices.Contains(p.Read, path) {
			p.Read = append(p.Read, path)
		}
	}
}

// Status is what Enter achieved, on all threads of the process and on those that start
// later.
type Status struct {
	Capabilities bool // all dropped but those of the policy: effective, permitted, inheritable, ambient
	Bounding     bool // the bounding set has no others either: that needs the capability setpcap, which root has
	NoNewPrivs   bool // programs that are started cannot gain any
	NoDump       bool // no core dumps, and no other process of this user may look into the memory
	User         *User

	Landlock int  // version of the kernel's rules for files and more; 0: it has none
	Files    bool // none can be opened or run but those of the policy
	TCP      bool // no port can be bound or connected to but those of the policy; multipath TCP is beyond these rules
	UDP      bool // none can be bound or sent to but those of the policy
	Signals  bool // none can be sent to other processes

	Folders, Ports, UDPPorts int // how many of the policy remain reachable

	// Missing lists what the system does not offer, one short phrase each.
	Missing []string
}

// String returns one line for people, such as "capabilities dropped, no new
// privileges, ...; not on this system: ...".
func (s Status) String() string {
	var done []string
	add := func(is bool, text string) {
		if is {
			done = append(done, text)
		}
	}
	if s.User != nil {
		add(true, "user "+strconv.Itoa(s.User.UID))
	}
	add(s.Capabilities, "capabilities dropped")
	add(s.NoNewPrivs, "no new privileges")
	add(s.NoDump, "no core dumps")
	add(s.Files, "files: "+formatRemaining(s.Folders, "path"))
	add(s.TCP, "tcp: "+formatRemaining(s.Ports, "port"))
	add(s.UDP, "udp: "+formatRemaining(s.UDPPorts, "port"))
	add(s.Signals, "no signals to others")
	line := strings.Join(done, ", ")
	if len(done) == 0 {
		line = "none"
	}
	if s.Landlock > 0 {
		line += " (landlock " + strconv.Itoa(s.Landlock) + ")"
	}
	if len(s.Missing) > 0 {
		line += "; not on this system: " + strings.Join(s.Missing, ", ")
	}
	return line
}

// formatRemaining writes how many things remain: none, 1 path, 2 paths.
func formatRemaining(n int, what string) string {
	switch n {
	case 0:
		return "none"
	case 1:
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// Error is the failure of one step of Enter. Earlier steps may have dropped rights, so
// the process should end.
type Error struct {
	Step string // the right or action that failed, or the path
	Hint string // what to do, one line; may be empty
	Err  error
}

// Error returns one line, without the hint.
func (e *Error) Error() string { return "sandbox: " + e.Step + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// ReplaceFile writes a file and gives it its name when it is whole: no reader finds half of it. It opens it
// for writing only, as a Policy allows no more.
func ReplaceFile(path string, text []byte) error {
	name := path + ".new"
	_ = os.Remove(name) // what a run left that was killed
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(name, path)
	}
	if err != nil {
		_ = os.Remove(name)
	}
	return err
}
