package report

import (
	"qsniff/flood/proof"
	"qsniff/pipeline/tally"
)

// Proven is what a run came to and who proved its address in it.
type Proven struct {
	Run tally.Run
	proof.Summary
}

// ProvenSource is an address that proved itself.
type ProvenSource = proof.Source
