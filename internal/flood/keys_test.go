package flood

import (
	"testing"

	"qsniff/internal/test/lrutest"
)

// TestChosenKeys: nobody can choose keys that collide in the tables.
func TestChosenKeys(t *testing.T) {
	lrutest.Check[loginKey](t)
}
