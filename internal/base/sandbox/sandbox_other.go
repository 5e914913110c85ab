//go:build !linux

package sandbox

import "runtime"

// Enter does nothing here: Status.Missing names the sandbox.
func Enter(Policy) (Status, error) {
	return Status{Missing: []string{"a sandbox (" + runtime.GOOS + ")"}}, nil
}

// HasNetAdmin returns false: the firewall is not read here.
func HasNetAdmin() bool { return false }

// OwnerOf returns nil: users are not changed here.
func OwnerOf(string) (*User, error) { return nil, nil }

// LowerPriority does nothing here.
func LowerPriority() {}
