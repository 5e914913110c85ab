//go:build !race

package a2s

const raceEnabled = false
