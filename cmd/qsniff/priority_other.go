//go:build !linux && !js

package main

// lowerPriority does nothing here.
func lowerPriority() {}
