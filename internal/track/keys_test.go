package track

import (
	"testing"

	"qsniff/internal/test/lrutest"
)

// TestChosenKeys: nobody can choose keys that collide in the tables.
func TestChosenKeys(t *testing.T) {
	lrutest.Check[Host](t)
	lrutest.Check[End](t)
	lrutest.Check[pairKey](t)
	lrutest.Check[loginKey](t)
	lrutest.Check[socketKey](t)
	lrutest.Check[elsewhereKey](t)
	lrutest.Check[flowKey](t)
	lrutest.Check[endsKey](t)
	lrutest.Check[callKey](t)
}
