package filter

// Parse returns an expression as parsed and as String writes it, for tests.
func Parse(text string) (string, *Error) {
	x, err := parse(text)
	if err != nil {
		return "", err
	}
	return x.String(), nil
}
