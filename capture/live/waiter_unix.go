//go:build unix

package live

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// waiter waits for packets at several descriptors, or until it is woken.
type waiter struct {
	fds []unix.PollFd // the first is the reading end of the pipe

	mu   sync.Mutex // held by wake and close
	pipe int        // writing end; 0 once closed
}

// open makes the pipe through which wake ends wait.
func (w *waiter) open() error {
	var p [2]int
	if err := unix.Pipe(p[:]); err != nil {
		return err
	}
	for _, fd := range p {
		unix.CloseOnExec(fd)
		if err := unix.SetNonblock(fd, true); err != nil {
			return err
		}
	}
	w.fds = append(w.fds, unix.PollFd{Fd: int32(p[0]), Events: unix.POLLIN})
	w.pipe = p[1]
	return nil
}

// watch adds a descriptor.
func (w *waiter) watch(fd int) {
	w.fds = append(w.fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
}

// wait returns when packets or errors are there to be read, when wake is called, or
// after d. A signal may end it earlier.
func (w *waiter) wait(d time.Duration) {
	_, _ = unix.Poll(w.fds, int(d.Milliseconds())) // reading shows what there is
}

// sleep waits until the kernel has delivered what it collects for d, whatever arrives:
// twice d, because its timer delivers a block when it finds the same one a second time.
func (w *waiter) sleep(d time.Duration) {
	const (
		slack = 10 * time.Millisecond // of the kernel's timers, which count jiffies
		again = 3                     // attempts: signals interrupt, such as the one that ends the program
	)
	for range again {
		if _, err := unix.Poll(nil, int((2*d + slack).Milliseconds())); err != unix.EINTR {
			return
		}
	}
}

// wake ends the present wait, and every later one at once.
func (w *waiter) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pipe != 0 {
		_, _ = unix.Write(w.pipe, []byte{0}) // a full pipe wakes too
	}
}

// close closes the pipe.
func (w *waiter) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pipe != 0 {
		unix.Close(w.pipe)
		unix.Close(int(w.fds[0].Fd))
		w.pipe = 0
	}
}
