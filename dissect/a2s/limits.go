package a2s

// maxPages bounds the pages of binary rules: their number is one byte.
const maxPages = 255

// maxDecimals bounds the digits of a decimal fraction in the keywords: as many as
// a float64 holds exactly. Servers send seven.
const maxDecimals = 15

// maxCount bounds the counts that are taken from the keywords in place of the
// reply's own. No game has more slots than that.
const maxCount = 1 << 24
