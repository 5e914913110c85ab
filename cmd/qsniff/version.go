package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"qsniff/capture/file"
)

func newVersion(io streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version and what this build can do",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			backend := "native"
			if file.HasLibpcap {
				backend = "native, gopacket (libpcap)"
			}
			_, err := fmt.Fprintf(io.out, "qsniff %s\n%s %s/%s\nreaders: %s\n",
				buildVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH, backend)
			return err
		},
	}
}

// buildVersion is the module's version, or the commit it was built from.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown)"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && v == "(devel)" {
			v = s.Value[:min(12, len(s.Value))]
		}
	}
	return v
}

func noArgs(cmd *cobra.Command, args []string) error {
	if err := cobra.NoArgs(cmd, args); err != nil {
		return &usageError{err, fmt.Sprintf("see %s --help", cmd.CommandPath())}
	}
	return nil
}
