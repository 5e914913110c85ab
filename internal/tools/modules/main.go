// Command modules lists what of others is built into qsniff. It runs in the root of the repository:
//
//	modules notice         NOTICE: the modules of all releases, and their licences
//	modules sbom PROGRAM   a bill of materials of a built program, in CycloneDX 1.6
package main

import (
	"fmt"
	"os"
)

func main() {
	var out []byte
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 1 && args[0] == "notice":
		out, err = notice(".")
	case len(args) == 2 && args[0] == "sbom":
		out, err = sbom(".", args[1])
	default:
		fmt.Fprintln(os.Stderr, "usage: modules notice | modules sbom PROGRAM")
		os.Exit(2)
	}
	if err == nil {
		_, err = os.Stdout.Write(out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "modules:", err)
		os.Exit(1)
	}
}
