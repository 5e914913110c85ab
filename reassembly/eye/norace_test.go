//go:build !race

package eye

const raceEnabled = false
