//go:build !race

package ase

const raceEnabled = false
