package sandbox

import (
	"errors"
	"os"
	"strconv"
	"syscall"
	"time"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
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
	if err := dropPrivileges(&p, &s); err != nil {
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

// HasNetAdmin reports whether the process may read and change the network of this machine.
func HasNetAdmin() bool {
	has, err := cap.GetProc().GetFlag(cap.Effective, cap.NET_ADMIN)
	return has && err == nil
}

// dropPrivileges drops the user and all capabilities but those of p. The Go runtime has many
// threads, each with capabilities of its own: libcap's psx package reaches all
// of them with cgo, where syscall.AllThreadsSyscall refuses, and without.
func dropPrivileges(p *Policy, s *Status) error {
	if _, _, e := psx.Syscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); e != 0 {
		return &Error{Step: "no new privileges", Err: e}
	}
	s.NoNewPrivs = true
	// The bounding set limits what can be gained, which no-new-privileges rules
	// out already; emptying it takes a capability that only root has.
	s.Bounding = emptyBoundingSet(p.NetAdmin) == nil
	if err := cap.ResetAmbient(); err != nil && !errors.Is(err, syscall.EINVAL) { // Linux before 4.3
		return &Error{Step: "ambient capabilities", Err: err}
	}
	if u := p.User; u != nil {
		if err := u.become(); err != nil {
			return &Error{Step: "become user " + strconv.Itoa(u.UID), Err: err}
		}
		s.User = u
	}
	kept := cap.NewSet()
	if p.NetAdmin {
		for _, flag := range []cap.Flag{cap.Permitted, cap.Effective, cap.Inheritable} {
			if err := kept.SetFlag(flag, true, cap.NET_ADMIN); err != nil {
				return &Error{Step: "keep net_admin", Err: err}
			}
		}
	}
	if err := kept.SetProc(); err != nil {
		return &Error{Step: "drop capabilities", Err: err}
	}
	if p.NetAdmin {
		if err := cap.SetAmbient(true, cap.NET_ADMIN); err != nil {
			return &Error{Step: "keep net_admin", Err: err}
		}
	}
	s.Capabilities = true
	return nil
}

// emptyBoundingSet empties it, but for one right if that stays.
func emptyBoundingSet(keepNetAdmin bool) error {
	for c := cap.Value(0); c < cap.MaxBits(); c++ {
		if c == cap.NET_ADMIN && keepNetAdmin {
			continue
		}
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

// The version of Landlock that added each right (landlock(7)). A ruleset may restrict
// only rights that the kernel's version has; all of those are restricted.
const (
	filesOfV1 = landlock.AccessFSMakeSym<<1 - 1

	versionRefer       = 2  // links and renames between folders
	versionTruncate    = 3  // truncating files
	versionTCP         = 4  // TCP ports
	versionIoctl       = 5  // ioctl on devices
	versionScope       = 6  // signals and abstract sockets
	versionAllThreads  = 8  // one call restricts all threads
	versionUnixSockets = 9  // connecting to sockets in the file system
	versionUDP         = 10 // UDP ports
)

const (
	rightsToRead  = landlock.AccessFSReadFile
	rightsToList  = landlock.AccessFSReadDir
	rightsToWrite = landlock.AccessFSWriteFile | landlock.AccessFSTruncate
	rightsToMake  = landlock.AccessFSMakeReg | landlock.AccessFSRemoveFile
	rightsToRun   = rightsToRead | landlock.AccessFSExecute
	rightsToKeep  = rightsToRead | rightsToList | rightsToWrite | rightsToMake | landlock.AccessFSMakeDir | landlock.AccessFSRemoveDir

	tcp = landlock.AccessNetBindTCP | landlock.AccessNetConnectTCP
	udp = landlock.AccessNetBindUDP | landlock.AccessNetConnectSendUDP
)

// signalsBetweenThreads is the bit of the kernel's errata that is set where threads
// restricted one by one may signal each other. In kernels without that fix, scoped
// signals would keep the Go runtime from interrupting its own threads.
const signalsBetweenThreads = 1 << 1

// ruleset is a Landlock ruleset that is not enforced yet.
type ruleset struct {
	fd    int    // -1: the kernel has no Landlock
	files uint64 // rights for files that are restricted, as AccessFS bits
	net   uint64 // for ports, as AccessNet bits
	scope uint64 // for other processes
	abi   int
}

// newRuleset makes the rules of p. It opens the paths, and so needs the rights for
// that.
func newRuleset(p Policy, s *Status) (*ruleset, error) {
	r := &ruleset{fd: -1}
	abi, err := landlock.LandlockGetABIVersion()
	if err != nil || abi < 1 {
		s.Missing = append(s.Missing, "landlock (rules for files and ports)")
		return r, nil
	}
	r.chooseRights(abi, s)
	r.fd, err = landlock.LandlockCreateRuleset(&landlock.RulesetAttr{
		HandledAccessFS: r.files, HandledAccessNet: r.net, Scoped: r.scope}, 0)
	if err != nil {
		return nil, &Error{Step: "rules for files", Err: err}
	}
	if err := r.addRules(p); err != nil {
		r.close()
		return nil, err
	}
	s.Folders = len(p.Read) + len(p.Programs) + len(p.Write) + len(p.Trees)
	s.Ports = len(p.Bind) + len(p.Connect)
	s.UDPPorts = len(p.SendUDP)
	return r, nil
}

// chooseRights selects all rights that version abi of Landlock can restrict, and adds
// those that it lacks to s.Missing.
func (r *ruleset) chooseRights(abi int, s *Status) {
	r.abi = abi
	r.files = filesOfV1
	for _, v := range [...]struct {
		abi   int
		right uint64
	}{
		{versionRefer, landlock.AccessFSRefer},
		{versionTruncate, landlock.AccessFSTruncate},
		{versionIoctl, landlock.AccessFSIoctlDev},
		{versionUnixSockets, landlock.AccessFSResolveUnix},
	} {
		if abi >= v.abi {
			r.files |= v.right
		}
	}
	if abi >= versionTCP {
		r.net |= tcp
	} else {
		s.Missing = append(s.Missing, "rules for tcp ports (landlock "+strconv.Itoa(versionTCP)+")")
	}
	if abi >= versionUDP {
		r.net |= udp
	} else {
		s.Missing = append(s.Missing, "rules for udp ports (landlock "+strconv.Itoa(versionUDP)+")")
	}
	if abi < versionScope {
		return
	}
	r.scope = landlock.ScopeAbstractUnixSocket
	if mended, err := landlock.LandlockGetErrata(); abi >= versionAllThreads || err == nil && mended > 0 && mended&signalsBetweenThreads != 0 {
		r.scope |= landlock.ScopeSignal
	}
}

// addRules adds to the ruleset what p still allows.
func (r *ruleset) addRules(p Policy) error {
	for _, path := range p.Read {
		if err := r.allow(path, rightsToRead, rightsToRead|rightsToList); err != nil {
			return err
		}
	}
	for _, path := range p.Programs {
		if err := r.allow(path, rightsToRun, rightsToRun|rightsToList); err != nil {
			return err
		}
	}
	for _, path := range p.Write {
		if err := r.allow(path, rightsToWrite, rightsToWrite|rightsToMake); err != nil {
			return err
		}
	}
	for _, path := range p.Trees {
		// Refer: renaming from one folder of the tree to another, as the broker does when it purges a stream.
		if err := r.allow(path, rightsToRead|rightsToWrite, rightsToKeep|r.files&landlock.AccessFSRefer); err != nil {
			return err
		}
	}
	if r.files&landlock.AccessFSResolveUnix != 0 {
		for _, path := range p.Sockets {
			if err := r.allow(path, landlock.AccessFSResolveUnix, landlock.AccessFSResolveUnix); err != nil {
				return err
			}
		}
	}
	// Where threads are restricted one by one, psx lists them between the calls;
	// without cgo it does not, and there may be no /proc.
	if tasks := "/proc/" + strconv.Itoa(os.Getpid()) + "/task"; r.abi < versionAllThreads {
		if err := r.allow(tasks, rightsToList, rightsToList); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	return r.addPorts(p)
}

// addPorts adds to the ruleset the ports of p, as far as the kernel has rules for them.
func (r *ruleset) addPorts(p Policy) error {
	all := map[uint64][]uint16{landlock.AccessNetBindTCP: p.Bind, landlock.AccessNetConnectTCP: p.Connect, landlock.AccessNetConnectSendUDP: p.SendUDP}
	if len(p.SendUDP) > 0 {
		all[landlock.AccessNetBindUDP] = []uint16{0} // the kernel chooses one, which counts as binding
	}
	for right, ports := range all {
		for _, port := range ports {
			if err := r.allowPort(port, right&r.net); err != nil {
				return err
			}
		}
	}
	return nil
}

// allow adds path: with the rights ofFolder if it is a folder, else ofFile.
func (r *ruleset) allow(path string, ofFile, ofFolder uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return &Error{Step: path, Err: err}
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return &Error{Step: path, Err: err}
	}
	rights := ofFile
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		rights = ofFolder
	}
	rule := landlock.PathBeneathAttr{ParentFd: fd, AllowedAccess: rights & r.files}
	if err := landlock.LandlockAddPathBeneathRule(r.fd, &rule, 0); err != nil {
		return &Error{Step: path, Err: err}
	}
	return nil
}

// allowPort adds a port with a right, 0 for one that the kernel has no rules for.
func (r *ruleset) allowPort(port uint16, right uint64) error {
	if right == 0 {
		return nil
	}
	rule := landlock.NetPortAttr{Port: uint64(port), AllowedAccess: right}
	if err := landlock.LandlockAddNetPortRule(r.fd, &rule, 0); err != nil {
		return &Error{Step: "port " + strconv.Itoa(int(port)), Err: err}
	}
	return nil
}

// enforce restricts all threads. It needs no-new-privileges.
func (r *ruleset) enforce(s *Status) error {
	if r.fd < 0 {
		return nil
	}
	var err error
	if r.abi >= versionAllThreads {
		err = landlock.LandlockRestrictSelf(r.fd, landlock.FlagRestrictSelfTSync)
	} else {
		err = landlock.AllThreadsLandlockRestrictSelf(r.fd, 0)
	}
	if err != nil {
		return &Error{Step: "rules for files", Err: err}
	}
	s.Landlock = r.abi
	s.Files = true
	s.TCP = r.net&tcp != 0
	s.UDP = r.net&udp != 0
	s.Signals = r.scope&landlock.ScopeSignal != 0
	return nil
}

func (r *ruleset) close() {
	if r.fd >= 0 {
		unix.Close(r.fd)
		r.fd = -1
	}
}
