package split

import (
	"testing"

	"qsniff/internal/test/lrutest"
)

// Buffered is the memory that waiting parts take, in bytes. It never exceeds
// Limits.Bytes.
func (a *Assembler) Buffered() int { return a.blocks.used * blockSize }

var outcomes = [...]string{
	"complete", "incomplete", "truncated", "bad bzip2", "too large", "refused", "malformed",
}

func (o Outcome) String() string { return outcomes[o] }

// TestChosenKeys: nobody can choose keys that collide in the tables.
func TestChosenKeys(t *testing.T) {
	lrutest.Check[flowKey](t)
	lrutest.Check[sourceKey](t)
}
