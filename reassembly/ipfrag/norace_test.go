//go:build !race

package ipfrag

const raceEnabled = false
