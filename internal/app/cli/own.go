package cli

import (
	"cmp"
	"fmt"
	"os"
	"os/user"
	"path/filepath"

	"github.com/spf13/pflag"

	"qsniff/internal/base/hostset"
)

// A Home is where users say once which servers and tools are theirs.
type Home struct {
	Lookup func(string) (string, bool) // of variables of the environment
	Files  []string                    // the first that exists counts
}

// UserHome returns the home of the user: under sudo of the one who called it, and of root where that one has no file.
func UserHome() Home {
	h := Home{Lookup: os.LookupEnv}
	if name := os.Getenv("SUDO_USER"); name != "" && os.Geteuid() == 0 {
		if u, err := user.Lookup(name); err == nil {
			h.Files = append(h.Files, filepath.Join(u.HomeDir, ".config", configName))
		}
	}
	if dir, err := os.UserConfigDir(); err == nil {
		h.Files = append(h.Files, filepath.Join(dir, configName))
	}
	return h
}

// configName is the name of the file in a folder for the settings of programs.
var configName = filepath.Join("qsniff", "config.toml")

// ownFlags are the flags that a home has values for.
var ownFlags = []struct {
	name, variable string
	check          func(string) error
}{
	{"servers", "QSNIFF_SERVERS", func(list string) error { _, err := hostset.Parse(list); return err }},
	{"own", "QSNIFF_OWN", func(list string) error { _, err := hostset.ParseNetworks(list); return err }},
}

// Apply sets --servers and --own, where flags has them and they are not set, to the value of QSNIFF_SERVERS and
// QSNIFF_OWN, also to an empty one, or else to that of the file. It returns a line about each that it set.
func (h *Home) Apply(flags *pflag.FlagSet) (notes []string, err error) {
	inFile, name := (*pflag.FlagSet)(nil), ""
	for _, own := range ownFlags {
		if f := flags.Lookup(own.name); f == nil || f.Changed {
			continue
		}
		value, isSet := h.Lookup(own.variable)
		from := own.variable
		if !isSet {
			if inFile == nil {
				if inFile, name, err = h.read(); err != nil {
					return nil, err
				}
			}
			value, from = inFile.Lookup(own.name).Value.String(), name
		}
		if value == "" {
			continue
		}
		if err := cmp.Or(own.check(value), flags.Set(own.name, value)); err != nil {
			return nil, Usage(fmt.Errorf("%s, for --%s: %w", from, own.name, err), "write networks and addresses, with commas between them")
		}
		notes = append(notes, fmt.Sprintf("--%s %s, from %s", own.name, value, from))
	}
	return notes, nil
}

// read returns the flags that the first file that there is sets, and its name. Without a file they are empty.
func (h *Home) read() (*pflag.FlagSet, string, error) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, own := range ownFlags {
		flags.Var(Text(new(string), "CIDR|ADDR,..."), own.name, "")
	}
	for _, name := range h.Files {
		if _, err := os.Stat(name); err != nil {
			continue
		}
		c := Config{Name: name, Command: "this file, which has servers and own", Path: "qsniff floods"}
		return flags, name, c.Load(flags)
	}
	return flags, "", nil
}
