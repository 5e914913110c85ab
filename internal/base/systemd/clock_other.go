//go:build !linux

package systemd

// monotonicMicros returns 0: there is no such manager here.
func monotonicMicros() int64 { return 0 }
