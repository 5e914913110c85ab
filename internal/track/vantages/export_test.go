package vantages

// The thresholds that tests of whole captures go by.
const (
	LeastAnswers = leastAnswers
	LeastTrips   = leastTrips
)
