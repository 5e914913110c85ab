package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"qsniff/internal/test/child"
)

// orders are what the child is to enter and to try. A sandbox cannot be left, so each
// test enters it in a process of its own.
type orders struct {
	Policy  Policy
	Folder  string // one of Policy.Write, or ""
	Foreign string // a file outside of the policy
	Packets bool   // open a packet socket before
}

// findings are what the child saw: error texts, "" where something worked.
type findings struct {
	Enter  string
	Status Status

	Socket, SocketElsewhere string // a new packet socket, here and on another thread
	Captured                string // a packet on the socket from before

	ReadForeign, WriteForeign, RemoveForeign string
	Make, Rename, Remove, Truncate           string
	ReadOwn, MakeFolder, MakeLink            string
	Exec                                     string
	Connect, ConnectAllowed, Bind            string
	Signal                                   string
	Zone                                     string
	Dumpable                                 int
	Core                                     uint64
	UID                                      int
}

func TestMain(m *testing.M) { child.Main(m, obey) }

// run starts a child, calls look while it lives in its sandbox, and returns what
// it saw.
func run(t *testing.T, o orders, look func(pid int), env ...string) findings {
	t.Helper()
	c, line := child.Start(t, o, env...)
	if look != nil {
		look(c.PID())
	}
	if err := c.End(); err != nil {
		t.Fatalf("the child: %v", err)
	}
	var f findings
	if err := json.Unmarshal([]byte(line), &f); err != nil {
		t.Fatal(err)
	}
	return f
}

// textOf is an error's text without the path.
func textOf(err error) string {
	if err == nil {
		return ""
	}
	if no := syscall.Errno(0); errors.As(err, &no) {
		return no.Error()
	}
	return err.Error()
}

// obey does what o orders, prints what it saw, and stays for run to look at.
func obey(o orders) error {
	elsewhere := otherThreads(8)
	allowed, refused := listen(), listen()
	packets := -1
	if o.Packets {
		var err error
		if packets, err = packetSocket(); err != nil {
			return err
		}
	}
	o.Policy.Connect = append(o.Policy.Connect, uint16(allowed.Addr().(*net.TCPAddr).Port))
	root, _ := os.OpenRoot(o.Folder)

	var f findings
	var err error
	f.Status, err = Enter(o.Policy)
	if err != nil {
		f.Enter = err.Error()
	}
	if o.Packets {
		_, err = packetSocket()
		f.Socket = textOf(err)
		f.SocketElsewhere = elsewhere(func() string { _, err := packetSocket(); return textOf(err) })
		f.Captured = captures(packets, allowed.Addr().String())
	}
	f.foreign(o.Foreign)
	if root != nil {
		f.own(root, o.Folder)
	}
	program := exec.Command("/bin/true")
	program.Stdin, program.Stdout, program.Stderr = os.Stdin, os.Stderr, os.Stderr // else /dev/null is opened
	f.Exec = textOf(program.Run())
	f.Connect, f.ConnectAllowed = dial(refused), dial(allowed)
	f.Bind = bind()
	f.Signal = textOf(syscall.Kill(os.Getppid(), 0))
	f.Zone, _ = time.Unix(0, 0).Zone()
	f.Dumpable, _ = unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	var core unix.Rlimit
	unix.Getrlimit(unix.RLIMIT_CORE, &core)
	f.Core, f.UID = core.Max, os.Getuid()
	if err := json.NewEncoder(os.Stdout).Encode(f); err != nil {
		return err
	}
	child.AwaitParent()
	return nil
}

func (f *findings) foreign(path string) {
	_, err := os.ReadFile(path)
	f.ReadForeign = textOf(err)
	_, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	f.WriteForeign = textOf(err)
	f.RemoveForeign = textOf(os.Remove(path))
}

// own does in the folder what a ring of files does, and what it does not.
func (f *findings) own(root *os.Root, folder string) {
	file, err := root.OpenFile("a.part", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	f.Make = textOf(err)
	if err != nil {
		return
	}
	fmt.Fprint(file, "packets")
	f.Truncate = textOf(file.Truncate(4))
	file.Close()
	f.Rename = textOf(root.Rename("a.part", "a"))
	_, err = os.ReadFile(filepath.Join(folder, "a"))
	f.ReadOwn = textOf(err)
	f.Remove = textOf(root.Remove("old"))
	f.MakeFolder = textOf(root.Mkdir("folder", 0o700))
	f.MakeLink = textOf(root.Symlink("/etc/passwd", "link"))
}

// otherThreads starts threads that wait, and returns a function that has one of
// them do something.
func otherThreads(n int) func(func() string) string {
	work, result := make(chan func() string), make(chan string)
	var started sync.WaitGroup
	started.Add(n)
	for range n {
		go func() {
			runtime.LockOSThread()
			started.Done()
			for f := range work {
				result <- f()
			}
		}()
	}
	started.Wait()
	return func(f func() string) string {
		work <- f
		return <-result
	}
}
