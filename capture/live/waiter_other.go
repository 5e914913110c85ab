//go:build !unix

package live

import "time"

// waiter has nothing to wait for: there is no backend for this system.
type waiter struct{}

func (w *waiter) open() error         { return nil }
func (w *waiter) watch(int)           {}
func (w *waiter) wait(time.Duration)  {}
func (w *waiter) sleep(time.Duration) {}
func (w *waiter) wake()               {}
func (w *waiter) close()              {}
