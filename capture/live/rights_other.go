//go:build !linux

package live

// rightsHint says how this program gets the right to capture.
func rightsHint() string {
	return "give your user access to the devices /dev/bpf*, or start " + shellWord(program()) + " with sudo"
}
