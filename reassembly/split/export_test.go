package split

import (
	"testing"

	"qsniff/internal/test/lrutest"
	"qsniff/reassembly/wire"
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

// TestFitOf: a part that disagrees about the total belongs to another set only if it is a part after the first
// in the form of the other engine as well.
func TestFitOf(t *testing.T) {
	header := func(total, number byte) []byte {
		return append([]byte("\xfe\xff\xff\xff\x01\x02\x03\x04"), total, number, 'x', 'y')
	}
	for _, tt := range []struct {
		name   string
		engine wire.Engine
		part   []byte
		want   fit
	}{
		{"of the set", wire.SourceOld, header(3, 1), goodFit},
		{"also part 1 of 2 of GoldSource", wire.SourceOld, header(0x12, 1), doubtfulFit},
		{"also part 2 of 4 of GoldSource", wire.SourceOld, header(0x24, 1), doubtfulFit},
		{"also part 0 of 4 of GoldSource", wire.SourceOld, header(4, 1), otherTotal},
		{"a first part", wire.SourceOld, header(3, 0), noFit},
		{"also part 1 of 18 of Source", wire.GoldSource, header(0x12, 1), doubtfulFit},
		{"also part 0 of 18 of Source", wire.GoldSource, header(0x12, 0), otherTotal},
		{"number of no part", wire.SourceOld, header(5, 4), numberTooHigh},
	} {
		s := &partSet{engine: tt.engine, total: 3}
		if got, _ := fitOf(s, tt.part, len(tt.part)); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}
