package live

import (
	"errors"
	"os"
	"strconv"
	"strings"
)

// What the Err of an Error may be, beside errors of the system such as
// fs.ErrPermission.
var (
	ErrNoInterface = errors.New("no such interface")
	ErrDown        = errors.New("interface is down")
	ErrVanished    = errors.New("interface vanished")
	ErrFilter      = errors.New("filter cannot be used")
)

// Error is what is wrong with an interface or a filter, and what to do about it.
type Error struct {
	Interface string // "" if it is about the whole capture
	Reason    string // lower case, one line
	Hint      string // what to do, one line; may be empty
	Err       error  // for errors.Is; may be nil
}

// Error returns one line, without the hint.
func (e *Error) Error() string {
	if e.Interface == "" {
		return e.Reason
	}
	return e.Interface + ": " + e.Reason
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// permissionError is the error about a missing right to capture. One capability is
// enough, also for promiscuous mode; nobody has to be root.
func permissionError(iface string, err error) *Error {
	return &Error{Interface: iface, Reason: "no right to capture", Hint: RightsHint(), Err: err}
}

// downError is about an interface that cannot be captured on before it is up.
func downError(name string) *Error {
	return &Error{Interface: name, Reason: ErrDown.Error(), Hint: "sudo ip link set " + shellWord(name) + " up", Err: ErrDown}
}

// goneError is about an interface that went down, or vanished, while it was captured on.
func goneError(name string, there bool) *Error {
	if there {
		return &Error{Interface: name, Reason: "interface went down", Hint: "start again when it is up", Err: ErrDown}
	}
	return &Error{Interface: name, Reason: ErrVanished.Error(), Hint: "start again when it is back; -i " + Any + " stays when interfaces come and go", Err: ErrVanished}
}

// unknownError is about a name that no interface has. It lists those there are.
func unknownError(name string, names []string) *Error {
	e := &Error{Interface: name, Reason: ErrNoInterface.Error(), Err: ErrNoInterface}
	if len(names) > 0 {
		e.Hint = "there are " + strings.Join(names, ", ")
	}
	return e
}

// filterError is about a filter that does not compile.
func filterError(iface, filter, reason string) *Error {
	return &Error{Interface: iface, Reason: "filter " + strconv.Quote(filter) + ": " + reason, Err: ErrFilter,
		Hint: `the language is that of tcpdump (man 7 pcap-filter): "udp port 27015 or tcp port 27015"`}
}

// shellWord quotes s for a command that is pasted into a shell.
func shellWord(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/+-@:"
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// programPath returns the path of this program for a command.
func programPath() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}
