package ase

import (
	_ "embed"

	"qsniff/dissect"
)

// queryPatterns is what requests with one of some letters look like: the letter alone,
// or text after it.
func queryPatterns(letters string) (all []dissect.Pattern) {
	for _, x := range letters {
		p := dissect.Begins(string(x))
		all = append(all, p.Sized(1, 1), p.Sized(2, maxQuery).OnlyAtPort("requests with text after their letter"))
	}
	return all
}

var (
	wireFull = []dissect.Pattern{
		dissect.Begins("EYE1"),
		dissect.BeginsMasked("EYE0", "\xff\xff\xff\xf0"), // fragments, which games other than MTA number 2 to 9
	}
	// A version begins with a digit.
	wireVersion = []dissect.Pattern{dissect.BeginsMasked("0", "\xf0").Sized(3, maxVersion).OnlyAtPort("versions")}
)

// operator is for those who run servers of MTA. What is asked is answered in full:
// there is no token, and servers stand less of it than others do.
var operator = dissect.Operator{
	Limits:    "MTA's server itself takes 5 in 6 seconds and stops counting when 100 sources flood it.",
	Reflected: "This protocol has no challenge, so a limit is all there is: leave the lines loaded.",
	Cap:       50,
	Each:      2, Burst: 10,
}

//go:embed wireshark.lua
var lua string

// plugin is how Wireshark reads the protocol.
var plugin = dissect.Plugin{Lua: lua}
