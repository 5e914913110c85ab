//go:build !linux

package live

// RightsHint says how this program gets the right to capture.
func RightsHint() string {
	return "give your user access to the devices /dev/bpf*, or start " + shellWord(program()) + " with sudo"
}
