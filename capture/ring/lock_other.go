//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package ring

import "os"

// lock does nothing here: no two captures may write the same ring.
func lock(*os.File) bool { return true }
