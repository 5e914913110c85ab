//go:build !unix

package file

// sameFile needs no flags where there are no pipes among files.
const sameFile = 0
