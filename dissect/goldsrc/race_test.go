//go:build race

package goldsrc

const raceEnabled = true
