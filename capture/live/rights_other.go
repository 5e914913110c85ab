//go:build !linux

package live

// RightsHint returns the command that gives this program the right to capture.
func RightsHint() string {
	return "give your user access to the devices /dev/bpf*, or start " + shellWord(programPath()) + " with sudo"
}
