package proof

import (
	"testing"

	"qsniff/internal/test/lrutest"
)

// TestChosenKeys: nobody can choose keys that collide in the tables.
func TestChosenKeys(t *testing.T) {
	lrutest.Check[end](t)
	lrutest.Check[offerKey](t)
	lrutest.Check[pendingKey](t)
}
