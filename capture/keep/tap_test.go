package keep

import (
	"testing"

	"qsniff/capture/live"
)

// TestTapLoss: what the decoder was not given is lost to whoever judges by what it
// decodes.
func TestTapLoss(t *testing.T) {
	x := &Tap{Source: new(live.Source)}
	x.undecoded.Add(7)
	if got := x.Stats().Dropped; got != 7 {
		t.Errorf("lost\ngot  %d\nwant 7", got)
	}
}
