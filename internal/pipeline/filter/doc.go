// Package filter is the language of display filters (-Y): it compiles an expression such as
//
//	a2s.info.players > 10 && ip.addr == 10.0.0.0/8
//
// once, and then reports for each message, finding and incident whether the expression holds.
// It does no I/O, and it is not the filter of a capture (-f), which the kernel runs on packets.
//
// The way of an expression:
//
//	text     parse   words, literals, operators with their places
//	   |
//	expr     check   words become fields; literals become values of the field's type
//	   |
//	node     Match   closures over one message, which allocate nothing
//
// Grammar and habits are those of Wireshark 4, as in wireshark-filter(4). A field that a
// message has several times is compared with each of its values: one is enough, but for !=,
// which wants all to differ. A comparison on a field that the message has not is false. What
// is different, because it helps with messages of servers:
//
//   - Names are values: message == S2A_RULES, a2s.info.environment == Linux. Their case does
//     not matter. Texts need no quotes as long as they are one word.
//   - A text compared by <, <=, > or >= with a number without quotes is compared as a number,
//     and does not match if it is none: a2s.rules.rules.value > 100.
//   - A name of yes or no alone is its value, not its presence: !exchange.answered.
//   - Durations have units, 100ms; a number without one is in seconds.
//   - Names of addresses are not looked up, there is no arithmetic, and there are no layers (#).
//
// # What is known later
//
// Whether an exchange is answered, and how fast, is not known at its request. Such fields are
// marked Late. Matcher.Match does not return yes or no for them, but a Truth: a table of what
// the expression will be for each outcome of its late comparisons. When the outcome is known,
// Program.Index returns the place in that table.
//
// # Secrets
//
// A field that is a secret can be tested for presence only, unless Options.ShowSecrets is set.
// Texts with a secret in them read "<redacted>" at its place, and payload reads '*' for its
// bytes, as in all outputs: no filter gives a result that depends on a secret.
//
// # The parser
//
// It is written by hand. What a literal is depends on the field that it is compared with:
// ff:ff, ::1, 10.0.0.0/8, 1..5, A2S-S02 and de_dust2 are words of the same characters, so a
// generator with a lexer of its own (participle) would get one token for all of them and parse
// it again by hand; and what it expected is no sentence that helps at the place of an error.
package filter
