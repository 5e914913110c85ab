//go:build unix

package live

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// waiter waits for packets at several descriptors, or for whoever wakes it.
type waiter struct {
	fds []unix.PollFd // the first is the reading end of the pipe

	mu   sync.Mutex // keeps wake and close apart
	pipe int        // writing end; 0 once closed
}

// open makes the pipe by which wake is noticed.
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

// wait returns when packets or errors wait, wake was called, or after the time. A
// signal may end it earlier.
func (w *waiter) wait(d time.Duration) {
	_, _ = unix.Poll(w.fds, int(d.Milliseconds())) // what it says is seen by reading
}

// rest waits for the time that the kernel takes to deliver what it collects for d,
// whatever comes.
func (w *waiter) rest(d time.Duration) {
	const (
		slack = 10 * time.Millisecond // of the kernel's timers, which count jiffies
		again = 3                     // signals, such as the one that ends the program
	)
	for range again {
		if _, err := unix.Poll(nil, int((2*d + slack).Milliseconds())); err != unix.EINTR {
			return
		}
	}
}

// wake ends wait, also one that has not begun.
func (w *waiter) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pipe != 0 {
		_, _ = unix.Write(w.pipe, []byte{0}) // a full pipe wakes too
	}
}

// close gives the pipe back.
func (w *waiter) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pipe != 0 {
		unix.Close(w.pipe)
		unix.Close(int(w.fds[0].Fd))
		w.pipe = 0
	}
}
