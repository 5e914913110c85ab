package report

import (
	"qsniff/flood/limiter"
	"qsniff/pipeline/tally"
)

// Limits is what a run came to and whom an engine's limiter would have refused.
type Limits struct {
	Run tally.Run
	limiter.Summary
}

// What Limits consists of, for renderers, which know this package only.
type (
	LimitModel    = limiter.Model
	LimitedServer = limiter.Server
	LimitedSource = limiter.Source
)
