//go:build race

package eye

const raceEnabled = true
