package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"qsniff/internal/app/anonymize"
)

// anonymizeOptions are the flags about anonymised packets.
type anonymizeOptions struct {
	isOn  bool
	key   string
	shift time.Duration
}

func (a *anonymizeOptions) register(cmd *cobra.Command, prefix string) {
	f := cmd.Flags()
	f.StringVar(&a.key, "key", "", prefix+"replace the same by the same in all runs with this `TEXT` (default: a new key each run); keep it to yourself")
	f.DurationVar(&a.shift, "shift", 0, prefix+"add this `TIME` to all times, as in -8760h")
	propose(cmd, "key", cobra.NoFileCompletions)
	propose(cmd, "shift", cobra.NoFileCompletions)
}

// anonymizer returns an Anonymizer with the key. Without one it draws one first, which stays.
func (a *anonymizeOptions) anonymizer() *anonymize.Anonymizer {
	if a.key == "" {
		key := make([]byte, 32)
		_, _ = rand.Read(key) // it never fails
		a.key = string(key)
	}
	return anonymize.New([]byte(a.key))
}

// printNotHidden prints what an anonymised capture still shows.
func printNotHidden(w io.Writer) {
	fmt.Fprintln(w, "qsniff: names, texts, addresses and passwords are replaced; what still shows:")
	for _, s := range anonymize.NotHidden {
		fmt.Fprintln(w, "  -", s)
	}
}

func newAnonymize(io streams) *cobra.Command {
	opts := readDefaults()
	opts.output, opts.write.anonymize.isOn = "none", true
	cmd := &cobra.Command{
		Use:     "anonymize [flags] IN OUT",
		GroupID: groupTraffic,
		Short:   "make a capture that can be shared",
		Long: `anonymize writes a capture that can be shared, in a bug report or with a provider:
"qsniff read --anonymize -w OUT IN" is the same. It decodes to the same messages as IN.

Replaced, by others of the same length and the same by the same: addresses, in headers
and in messages, names of servers and players, texts (settings, commands, console
output, lines of logs), passwords, SteamIDs and challenges. Left out: packets that are
no part of a message, but for TCP without data, ICMP, comments, names of interfaces,
bytes after the end of a datagram. A reply that came compressed is packed again into as
many bytes; where names vary too much for that, with fewer letters. One that still does
not fit, or of which a part is missing, is overwritten, decodes no more, and is counted.

What still shows:
  - ` + strings.Join(anonymize.NotHidden[:], "\n  - ") + `
Look at the result before you share it: qsniff -o tree OUT.`,
		Example: `  qsniff anonymize capture.pcap shared.pcapng
  qsniff anonymize --shift -8760h capture.pcap older.pcapng   a year earlier`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return &usageError{errors.New("anonymize: name a capture and the file that is to be written"), "qsniff anonymize IN OUT"}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.write.path = args[1]
			return readCaptures(cmd.Context(), opts, args[:1], io)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	opts.write.anonymize.register(cmd, "")
	opts.write.registerFile(cmd, "")
	opts.registerInput(cmd)
	cmd.ValidArgsFunction = completeCaptures
	return cmd
}
