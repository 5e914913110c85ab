package top

import (
	"time"

	"qsniff/internal/pipeline"
)

const (
	// headLines is how many lines each of the two parts of the verdict has at most. Chosen: a screen
	// of 80 columns has room for the whole sentence.
	headLines = 2

	// decodeMemory is the budget of the tables of a Decoder. Chosen: a hundredth of what those of a
	// capture have, for thousands of packets, that are gone after milliseconds.
	decodeMemory = pipeline.DefaultMemory / 128

	// longestAnswer is how long after the begin of the packets that are kept of a server a reply
	// may be one to a request before them, in nanoseconds. Chosen: query clients wait 5 s at most.
	longestAnswer = int64(5 * time.Second)

	// mostMessages is how many messages of an exchange are shown. Chosen: an exchange has less than
	// ten; of a connection, more than anybody reads.
	mostMessages = 256

	// listedIncidents is how many lines of the screen the list has at most. Chosen: what goes on at
	// once is few, and the evidence needs the room.
	listedIncidents = 6

	// listedMessages is how many lines the list of messages has at most. Chosen: an exchange with a
	// challenge has four.
	listedMessages = 5

	// besideFrom is from which width on bytes are beside the tree. Chosen: 16 bytes of a row, and as
	// much for the tree.
	besideFrom = 132

	// rateSpan is over how much packet time the rates of kinds are measured. Chosen: as Rates.
	rateSpan = 10 * time.Second

	// redrawEvery is how often the screens change by themselves.
	redrawEvery = 250 * time.Millisecond
)
