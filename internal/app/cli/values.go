package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Texts is the value of a flag that may be given several times. pflag's own encodes its default as CSV, which
// took 4 KiB for each of a hundred flags at every start.
type Texts []string

func (v *Texts) String() string { return "" }

// Type returns what help shows for the value.
func (v *Texts) Type() string { return "stringArray" }

// Set adds a text.
func (v *Texts) Set(s string) error { *v = append(*v, s); return nil }

// text is a value that is a text.
type text struct {
	value  *string
	kind   string
	isList bool
}

// Text returns the value of a flag that is a text, which help calls kind.
func Text(value *string, kind string) pflag.Value { return &text{value, kind, false} }

// ListText returns the value of a flag that is a list. If the flag is given again, its values are joined with
// commas.
func ListText(value *string, kind string) pflag.Value { return &text{value, kind, true} }

func (w *text) String() string { return *w.value }
func (w *text) Type() string   { return w.kind }
func (w *text) Set(s string) error {
	if w.isList && *w.value != "" {
		s = *w.value + "," + s
	}
	*w.value = s
	return nil
}

// MemorySize is the value of a flag: a number of bytes from 16 MiB to 64 GiB, as in 64M or 1G.
type MemorySize int64

func (s *MemorySize) String() string { return strconv.FormatInt(int64(*s)>>20, 10) + "M" }

// Type returns what help shows for the value.
func (s *MemorySize) Type() string { return "SIZE" }

// Set sets the value by what is on the command line.
func (s *MemorySize) Set(text string) error {
	const least, most = 16 << 20, 64 << 30 // chosen: more than any machine for this has, and than Go can allocate for a table
	var n ByteSize
	switch err := n.Set(text); {
	case err != nil:
		return err
	case n < least:
		return errors.New("at least 16M")
	case n > most:
		return errors.New("at most 64G")
	}
	*s = MemorySize(n)
	return nil
}

// sampled is the value that Sampled returns.
type sampled struct {
	n    *uint
	most uint64
}

// Sampled returns the value of a flag that names of how many packets one was taken: 1000 or 1:1000, at most most.
func Sampled(n *uint, most uint64) pflag.Value { return &sampled{n, most} }

func (v *sampled) Set(s string) error {
	n, err := strconv.ParseUint(strings.TrimPrefix(s, "1:"), 10, 32)
	if err != nil || n < 1 || n > v.most {
		return fmt.Errorf("%q: write of how many packets one was taken, from 1 to %d", s, v.most)
	}
	*v.n = uint(n)
	return nil
}

func (v *sampled) String() string {
	if *v.n == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(*v.n), 10)
}

func (v *sampled) Type() string { return "N" }

// proposed is the value of a flag, with what completes it.
type proposed struct {
	pflag.Value
	complete cobra.CompletionFunc
}

// Inner returns the value that is completed: ListOf wants it.
func (p *proposed) Inner() pflag.Value { return p.Value }

// Propose sets what completes the value of a flag.
func Propose(cmd *cobra.Command, flag string, f cobra.CompletionFunc) {
	x := cmd.Flags().Lookup(flag)
	x.Value = &proposed{x.Value, f} // a flag that does not exist is a mistake that every start shows
}

// RegisterCompletions makes cobra propose values of flags: those of closed sets, and what
// Propose set. It is called only where a shell asks, as cobra keeps what it is given, and the
// commands with it, in a table of the whole program.
func RegisterCompletions(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		var complete cobra.CompletionFunc
		switch v := f.Value.(type) {
		case *Choice:
			complete = cobra.FixedCompletions(v.Allowed, cobra.ShellCompDirectiveNoFileComp)
		case *proposed:
			complete = v.complete
		default:
			return
		}
		if err := cmd.RegisterFlagCompletionFunc(f.Name, complete); err != nil {
			panic(err) // it has another: a mistake that every completion shows
		}
	})
	for _, sub := range cmd.Commands() {
		RegisterCompletions(sub)
	}
}
