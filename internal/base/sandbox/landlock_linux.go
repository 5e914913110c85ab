package sandbox

import (
	"errors"
	"os"
	"strconv"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

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
	s.Folders = len(p.Read) + len(p.Write) + len(p.Trees)
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
