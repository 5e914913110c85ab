//go:build !race

package goldsrc

const raceEnabled = false
