package console

// The bounds of Passwords, which is kept for each connection: below 900 bytes.
const (
	// maxPasswords is how many passwords are kept: servers ban or close after a few
	// wrong ones, so the last ones are those that a server can still repeat. A new one
	// evicts the oldest.
	maxPasswords = 4
	// maxPassword is how many bytes of a password are kept. Where the start of a longer
	// one is found, the rest of its line is hidden with it.
	maxPassword = 64
	// standAlone is the length in bytes from which on a password is found within words,
	// too. A shorter one is part of many words, and is found only where neither a
	// letter nor a digit adjoins it.
	standAlone = 4
	// maxTail is how much of a text is looked at again with the next one, for the name of a
	// variable whose value is a secret. The longest known has 20 letters.
	maxTail = 256
	// maxWindow is how much of the next text is looked at together with the tail: a value that
	// is longer hides the rest of its line.
	maxWindow = 1024
)

// maxTorn is how many bytes of each line FindTorn hides at most: no password is longer.
const maxTorn = 256
