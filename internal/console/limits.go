package console

// What is remembered of the passwords of one connection: together below 600 bytes.
const (
	// maxPasswords is how many: servers ban or close after a few wrong ones, so the
	// last are those that a server can still repeat. The oldest is dropped.
	maxPasswords = 4
	// maxPassword is how much of one. Of a longer one the start is found, and hidden
	// with the rest of its line.
	maxPassword = 64
	// standAlone is below how many bytes a password is found only where neither a
	// letter nor a digit adjoins it: shorter ones are parts of many words.
	standAlone = 4
)

// maxTorn is how much of a text is hidden at most because what it continues is
// missing: no password is longer.
const maxTorn = 256
