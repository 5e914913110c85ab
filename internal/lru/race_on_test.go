//go:build race

package lru_test

const raceEnabled = true
