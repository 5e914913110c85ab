//go:build linux || darwin || freebsd

package main

import "golang.org/x/sys/unix"

func statFree(path string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, err
	}
	return uint64(max(s.Bavail, 0)) * uint64(s.Bsize), nil
}
