package sandbox

import (
	"errors"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/cap"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// Enter drops every right that p does not name, on all threads. What the kernel
// lacks is listed in the Status and is no error. An error is an *Error: a step failed,
// or a path of the policy cannot be written without the dropped rights.
//
// Enter makes the rules for files first, because opening the paths may need rights
// that it drops, then drops privileges, and enforces the rules last, because the steps
// before that read /proc.
func Enter(p Policy) (Status, error) {
	var s Status
	loadTimeZone()
	rules, err := newRuleset(p, &s)
	if err != nil {
		return s, err
	}
	defer rules.close()
	if err := dropPrivileges(p.User, &s); err != nil {
		return s, err
	}
	if err := forbidCoreDumps(&s); err != nil {
		return s, err
	}
	if err := rules.enforce(&s); err != nil {
		return s, err
	}
	return s, checkWritable(append(p.Trees[:len(p.Trees):len(p.Trees)], p.Write...))
}

// loadTimeZone makes the time package read the file of the local time zone while that
// can be opened. Otherwise it would try when the first time is formatted, and silently
// use UTC.
func loadTimeZone() { _, _ = time.Unix(0, 0).Zone() }

// OwnerOf returns the user that path belongs to, nil if that is root or the user
// whom this process runs as.
func OwnerOf(path string) (*User, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Uid == 0 || int(st.Uid) == os.Geteuid() {
		return nil, nil
	}
	return &User{UID: int(st.Uid), GID: int(st.Gid)}, nil
}

// dropPrivileges drops the user and all capabilities. The Go runtime has many
// threads, each with capabilities of its own: libcap's psx package reaches all
// of them with cgo, where syscall.AllThreadsSyscall refuses, and without.
func dropPrivileges(u *User, s *Status) error {
	if _, _, e := psx.Syscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); e != 0 {
		return &Error{Step: "no new privileges", Err: e}
	}
	s.NoNewPrivs = true
	// The bounding set limits what can be gained, which no-new-privileges rules
	// out already; emptying it takes a capability that only root has.
	s.Bounding = emptyBoundingSet() == nil
	if err := cap.ResetAmbient(); err != nil && !errors.Is(err, syscall.EINVAL) { // Linux before 4.3
		return &Error{Step: "ambient capabilities", Err: err}
	}
	if u != nil {
		if err := u.become(); err != nil {
			return &Error{Step: "become user " + strconv.Itoa(u.UID), Err: err}
		}
		s.User = u
	}
	if err := cap.NewSet().SetProc(); err != nil {
		return &Error{Step: "drop capabilities", Err: err}
	}
	s.Capabilities = true
	return nil
}

func emptyBoundingSet() error {
	for c := cap.Value(0); c < cap.MaxBits(); c++ {
		if err := cap.DropBound(c); err != nil {
			return err
		}
	}
	return nil
}

// become changes all user and group ids; package syscall does so on all threads.
func (u *User) become() error {
	if os.Geteuid() == u.UID && os.Getuid() == u.UID {
		return nil
	}
	if err := syscall.Setgroups(nil); err != nil {
		return err
	}
	if err := syscall.Setresgid(u.GID, u.GID, u.GID); err != nil {
		return err
	}
	return syscall.Setresuid(u.UID, u.UID, u.UID)
}

// forbidCoreDumps keeps what was captured out of core files, and debuggers of the
// same user out of the process. It comes after the change of user, which sets
// the attribute anew.
func forbidCoreDumps(s *Status) error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return &Error{Step: "no core dumps", Err: err}
	}
	// Where the kernel pipes core dumps to a program, only the attribute prevents them.
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return &Error{Step: "no core dumps", Err: err}
	}
	s.NoDump = true
	return nil
}

// checkWritable returns an error for a path that only the dropped rights could write, so
// that a capture fails at its start and not when the next file of a ring is due.
// access(2), which it asks, does not take Landlock into account.
func checkWritable(paths []string) error {
	for _, path := range paths {
		mode := uint32(unix.W_OK)
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			mode |= unix.X_OK
		}
		if err := unix.Faccessat(unix.AT_FDCWD, path, mode, unix.AT_EACCESS); err != nil {
			return &Error{Step: path, Err: err,
				Hint: "it cannot be written once privileges are dropped: choose a folder of the user who runs this, or change its owner"}
		}
	}
	return nil
}

// LowerPriority has everything else run before this process.
func LowerPriority() {
	const lowest = 19
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, lowest) // a process may always do this
}
