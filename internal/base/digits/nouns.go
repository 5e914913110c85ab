package digits

// Noun returns the word for n things; words are the singular and, where an s does
// not make it, the plural.
func Noun(n uint64, words ...string) string {
	switch {
	case n == 1:
		return words[0]
	case len(words) > 1:
		return words[1]
	}
	return words[0] + "s"
}

// Counted writes n, grouped, with its noun.
func Counted(n uint64, words ...string) string {
	return Grouped(int64(min(n, 1<<63-1))) + " " + Noun(n, words...)
}
