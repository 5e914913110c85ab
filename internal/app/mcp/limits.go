package mcp

import "time"

// MaxAnswer is how many bytes the JSON of an answer has at most: each says so, and names the
// cursor of what is left. Chosen: about 8,000 tokens, a third of what common assistants take from
// a tool.
const MaxAnswer = 24 << 10

// maxPage is how many records an answer has at most, and usualPage how many where the question
// names no limit. Chosen: more lines than a person reads, and what fits MaxAnswer as lines.
const (
	maxPage   = 500
	usualPage = 100
)

// What a record that is larger than an answer is cut to: texts of so many bytes, lists of so
// many elements; in the last resort nothing but its size stays. Chosen: a record of the usual
// kind has its first values, and the tool message shows all of it.
var cuts = [...]struct{ text, list int }{{200, 8}, {60, 3}, {20, 1}}

// maxStretch is how many bytes of records one run keeps for the pages that follow, and
// maxStretches how many such are kept, the latest used. Chosen: 40 answers a run, and in all
// much less than the tables of a run take.
const (
	maxStretch   = 1 << 20
	maxStretches = 8
)

// maxRuns is how many captures are read at a time; other questions wait. Chosen: a run has
// tables of its own, and uses all processors.
const maxRuns = 1

// maxRead is how long a question may take. Chosen: a capture of 50 GB is read in that, and
// assistants stop waiting before.
const maxRead = 5 * time.Minute

// lastWait is how long questions may take after standard input has ended. Chosen: lines in a pipe
// get their answers, and the program ends soon after an assistant that was ended.
const lastWait = 10 * time.Second

// maxFiles and maxDepth bound the files of a folder that are listed, and how deep below it they
// lie. Chosen: rings have hundreds of files, and folders by server and day are three deep.
const (
	maxFiles = 10_000
	maxDepth = 8
)

// maxPeeks is how many files one call of list_captures looks into. Chosen: a second on a slow
// disk.
const maxPeeks = 500

// maxRequest is how many bytes a request has at most. Chosen: the longest filter, and room for
// what else clients send.
const maxRequest = 256 << 10

// maxExpression is how many bytes a filter or a pattern has at most. Chosen: people write about a
// hundred, programs that list addresses thousands.
const maxExpression = 8 << 10

// maxSpelling is how long a word is at most that similar names are looked for. Chosen: longer
// than any name of a field, and most of files; the work grows with the length, and with each name.
const maxSpelling = 128

// treeWidth is how many columns a tree has. Chosen: fewer lines that go on below than 80 give.
const treeWidth = 120
