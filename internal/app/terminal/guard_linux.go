package terminal

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// followStops stops this process whenever another one stops, until the function that it returns
// is called: a program that may send no signals to others stops itself alone, and the shell waits
// for this one. A signal that continues the job continues both.
func followStops(pid int) (end func()) {
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, unix.SIGCHLD)
	go func() {
		for range changed {
			var is unix.Siginfo
			err := unix.Waitid(unix.P_PID, pid, &is, unix.WSTOPPED|unix.WNOHANG, nil)
			if err == nil && is.Signo == int32(unix.SIGCHLD) {
				_ = unix.Kill(os.Getpid(), unix.SIGTSTP)
			}
		}
	}()
	return func() {
		signal.Stop(changed)
		close(changed)
	}
}
