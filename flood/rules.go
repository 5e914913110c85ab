package flood

// Rules is when what is found, with the thresholds in use.
type Rules struct {
	Settings []Setting
	Rules    []Rule
	Meanings []Meaning
}

// RulesOf lists when what is found with these thresholds.
func RulesOf(t Thresholds) *Rules {
	return &Rules{Settings: t.Settings(), Rules: t.Rules(), Meanings: Meanings}
}
