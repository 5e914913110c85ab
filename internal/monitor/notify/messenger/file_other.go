//go:build !unix

package messenger

// openSame is no flag where there are no pipes among files.
const openSame = 0
