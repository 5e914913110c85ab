//go:build race

package netlayer

const raceEnabled = true
