package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"qsniff/capture/file"
	"qsniff/capture/live"
	"qsniff/internal/base/cli"
	"qsniff/internal/render/manual"
	"qsniff/internal/render/schema"
)

// build describes how this program was built.
type build struct {
	cli.Build
	Readers  []string       `json:"readers"`
	Gopacket string         `json:"gopacket,omitempty"` // what the reader gopacket is
	Backends []string       `json:"backends"`           // for interfaces
	Libpcap  string         `json:"libpcap,omitempty"`
	Schema   string         `json:"schema"` // of the output, as in qsniff schema
	Limits   []manual.Limit `json:"limits,omitempty"`
}

func newVersion(io streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version [flags]",
		GroupID: groupReference,
		Short:   "print the version and what this build can do",
		Long: `version prints the version, the revision and the compiler that this program was
built from, the readers it has for captures, the ways to capture on interfaces, and
the version of libpcap if it is linked with it. With --limits it lists what bounds
memory and work, by the part of the program that keeps to it, each with the reason
for its value.

Exit status: 0 fine, 2 wrong usage.`,
		Example: `  qsniff version
  qsniff version --limits         what bounds memory and work, and why
  qsniff version -o json          for programs`,
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	output := addOutputFlag(cmd)
	limits := cmd.Flags().Bool("limits", false, "list the limits, with reasons")
	cmd.RunE = func(*cobra.Command, []string) error {
		b := readBuild()
		if *limits {
			var err error
			if b.Limits, err = manual.Limits(); err != nil {
				return err
			}
		}
		if *output == "json" {
			enc := json.NewEncoder(io.out)
			enc.SetEscapeHTML(false)
			return enc.Encode(&b)
		}
		_, err := io.out.Write(b.append(nil, width(io.out)))
		return err
	}
	return cmd
}

// readBuild returns the description of this program.
func readBuild() build {
	b := build{
		Build:    cli.ReadBuild(packaged),
		Readers:  []string{readerNative},
		Backends: backends(),
		Libpcap:  file.LibpcapVersion(),
		Schema:   schema.Version,
	}
	if runtime.GOOS != "js" { // the page has the native one only
		b.Readers, b.Gopacket = append(b.Readers, readerGopacket), file.GopacketReader
	}
	return b
}

// packaged is the version of sources that come without git, as those that packagers download do: set by
// go build -ldflags '-X main.packaged=v0.1.0'.
var packaged string

func (b *build) append(dst []byte, width int) []byte {
	dst = fmt.Appendf(dst, "qsniff %s\n", b.Short())
	if b.Revision != "" {
		dst = fmt.Appendf(dst, "revision: %s of %s", b.Revision, b.Time)
		if b.Modified {
			dst = append(dst, ", changed since"...)
		}
		dst = append(dst, '\n')
	} else if b.Version == cli.Unversioned {
		dst = append(dst, "revision: not recorded: built with -buildvcs=false, or not from a git clone; there, make build records it\n"...)
	}
	readers := strings.Join(b.Readers, ", ")
	if b.Gopacket != "" {
		readers += " (" + b.Gopacket + ")"
	}
	dst = fmt.Appendf(dst, "built by: %s for %s/%s\nreaders: %s\nlive: %s\n", b.Go, b.OS, b.Arch, readers, cmp.Or(strings.Join(b.Backends, ", "), "none"))
	if b.Libpcap != "" {
		dst = fmt.Appendf(dst, "libpcap: %s\n", b.Libpcap)
	} else {
		dst = append(dst, "libpcap: none, this build is without cgo\n"...)
	}
	if b.Schema != "" {
		dst = fmt.Appendf(dst, "output: version %s of the schema\n", b.Schema)
	}
	if len(b.Limits) > 0 {
		dst = manual.AppendLimits(append(dst, '\n'), b.Limits, width)
	}
	return dst
}

// backends returns the ways that this build has to capture on interfaces, the default first.
func backends() []string {
	names := []string{}
	if live.HasAFPacket {
		names = append(names, live.AFPacket.String())
	}
	if live.HasLibpcap {
		names = append(names, live.Libpcap.String())
	}
	return names
}

func noArgs(cmd *cobra.Command, args []string) error {
	if err := cobra.NoArgs(cmd, args); err != nil {
		return &usageError{err, fmt.Sprintf("see %s --help", cmd.CommandPath())}
	}
	return nil
}
