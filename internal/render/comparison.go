package render

import "qsniff/internal/render/tally"

// Comparison is the result of qsniff compare: what one side has and the other lacks.
type Comparison struct {
	Run         tally.Run
	Sides       [2]ComparedSide
	Differences []Difference // what a strict client fails at first comes first
	Equal       []Aspect     // what was compared and is the same
	Uncompared  []string     // what only one side was asked, in words
	Unkept      uint64       // fields and names that there was no room for
	Verbose     bool         // a page lists everything
}

// ComparedSide is one of the two that are compared.
type ComparedSide struct {
	Label     string // in sentences: "A", "client B"
	Name      string // as the user gave it
	Exchanges uint64
	Messages  uint64
	First     int64 // Unix nanoseconds
	Last      int64
}

// Difference is one difference between two sides. Texts can come from the network: escape them.
type Difference struct {
	Aspect Aspect
	// IsOfFirst is set where it is the first side that a client fails at.
	IsOfFirst bool
	Protocol  string // empty of a finding
	Message   string // the type of message that it is about; empty of a finding
	What      string // row of a table
	Cells     [2]string
	Text      string      // the sentence
	Fields    []string    // that one side lacks
	Only      [2][]string // names that only one side has
	Finding   string      // id
}

// Aspect is what two sides differ in. The first ones are what a strict client fails at first.
type Aspect uint8

// The aspects.
const (
	AnswerAspect    Aspect = iota // whether requests are answered
	ChallengeAspect               // whether a challenge comes first
	RequestAspect                 // fields of requests
	PartAspect                    // parts and compression
	StatusAspect                  // whether messages are complete
	FaultAspect                   // findings that a client has to deal with
	ReplyAspect                   // types of replies
	FieldAspect                   // fields that are there or not, and their kinds
	PartlyAspect                  // fields that are not always there
	OrderAspect                   // order and number of replies
	SizeAspect                    // datagrams that IP cuts
	FindingAspect                 // other findings: errors and warnings
	TimeAspect                    // how long answers take
	NoteAspect                    // findings that are notes
	NameAspect                    // names in lists, and members that are decoded from a text
	LengthAspect                  // lengths of messages
	ValueAspect                   // values
	NumAspects      = int(ValueAspect) + 1
)

var aspectNames = [...]string{
	"answers", "challenges", "requests", "parts", "completeness", "faults", "replies", "fields", "optional_fields", "order", "sizes", "findings", "times",
	"notes", "names", "lengths", "values",
}

// String is the aspect's name in output.
func (a Aspect) String() string { return aspectNames[a] }
