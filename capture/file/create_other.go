//go:build !unix

package file

// openSame is no flag where there are no pipes among files.
const openSame = 0
