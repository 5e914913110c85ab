//go:build race

package ipfrag

const raceEnabled = true
