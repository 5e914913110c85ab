//go:build !race

package netlayer

const raceEnabled = false
