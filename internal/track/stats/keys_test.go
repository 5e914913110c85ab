package stats

import (
	"testing"

	"qsniff/internal/test/lrutest"
)

// TestChosenKeys: nobody can choose keys that collide in the tables.
func TestChosenKeys(t *testing.T) {
	lrutest.Check[hostKey](t)
	lrutest.Check[endKey](t)
	lrutest.Check[pairKey](t)
	lrutest.Check[questionAt](t)
	lrutest.Check[repeatKey](t)
}
