package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"qsniff/internal/app/cli"
	"qsniff/internal/base/digits"
	"qsniff/internal/fleet"
	"qsniff/internal/fleet/hub/broker"
	"qsniff/internal/fleet/hub/export"
)

// exportOptions are the flags of export.
type exportOptions struct {
	brokerOptions
	secretFile   string
	kind, form   string
	since, until string
	force        bool
	web          cli.WebFlags // for --insecure
}

const exportHelp = `export writes what is in the streams to FILE (- is standard output): a row a message, in the
order in which the broker got them. Sketches are written as the counts that they estimate,
features by their names; one that is unknown is left out. With --secret networks are written
as prefixes, without it sealed only.

  server     what one server was asked and answered in ten seconds
  host       how a sensor does
  incident   events of incidents at one host
  finding    findings of a kind at a server, in ten seconds
  inventory  what servers say of themselves: text from the network
  campaign   events of campaigns, which hubs tell

It reads from a broker that runs (--nats, by default the one of a hub on this machine), or
the folder of one that does not (--store). DuckDB, ClickHouse and pandas read the Parquet.

Exit status: 0 written, 1 failed, 2 wrong usage.`

func newExport(io streams) *cobra.Command {
	o := &exportOptions{form: "jsonl"}
	cmd := &cobra.Command{Use: "export --kind KIND [flags] FILE", Short: "write what is in the streams as JSON lines or Parquet", Long: exportHelp,
		Example: `  qsniff-hub export --kind campaign -
  qsniff-hub export --kind server -o parquet --since 24h servers.parquet
  qsniff-hub export --kind incident --since 2026-11-01 --until 2026-11-08 --secret fleet.secret incidents.jsonl`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usage(errors.New("export takes one FILE"), "- is standard output")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0], io) }}
	f := cmd.Flags()
	f.Var(cli.OneOf(&o.kind, export.Kinds()...), "kind", "what is written")
	f.VarP(cli.OneOf(&o.form, export.Forms...), "output", "o", "JSON lines, or Parquet")
	f.StringVar(&o.since, "since", "", "what the broker got since `TIME`, 2026-11-01, 2026-11-01T12:00:00Z, or 24h ago")
	f.StringVar(&o.until, "until", "", "what it got before `TIME`")
	f.BoolVar(&o.web.Insecure, "insecure", false, "speak without TLS with a broker elsewhere")
	f.BoolVar(&o.force, "force", false, "replace FILE if it is there")
	f.StringVar(&o.secretFile, "secret", "", "open networks with the secret of the fleet in `FILE`")
	o.brokerOptions.register(cmd)
	return cmd
}

// parseTime reads a date, a moment, or how long ago.
func parseTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, form := range []string{time.RFC3339, time.DateTime, "2006-01-02T15:04", time.DateOnly} {
		if t, err := time.Parse(form, text); err == nil {
			return t, nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, cli.Usage(fmt.Errorf("%.40q is no time", text), "as 2026-11-01, 2026-11-01T12:00:00Z, or 24h for a day ago; times are UTC")
}

func (o *exportOptions) run(ctx context.Context, file string, io streams) (err error) {
	x := export.Options{Prefix: o.prefix, Kind: fleet.Kind(o.kind), Form: o.form}
	if o.kind == "" {
		return needs("kind", "one of "+strings.Join(export.Kinds(), ", "))
	}
	now := time.Now()
	if x.Since, err = parseTime(o.since, now); err != nil {
		return err
	}
	if x.Until, err = parseTime(o.until, now); err != nil {
		return err
	}
	if o.secretFile != "" {
		if x.Secret, err = loadSecret(o.secretFile); err != nil {
			return err
		}
	}
	conn, done, err := o.connect(io)
	if err != nil {
		return err
	}
	defer done()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	return o.write(ctx, js, x, file, io)
}

// connect connects to the broker that runs, or starts one on its folder.
func (o *exportOptions) connect(io streams) (*nats.Conn, func(), error) {
	if o.url == "" && o.store == "" {
		o.url = nats.DefaultURL
	}
	dial, err := o.dial()
	if err == nil {
		err = o.web.CheckBroker("nats", o.url)
	}
	if err != nil {
		return nil, nil, err
	}
	if o.store == "" {
		c, err := dial.Connect()
		if err != nil {
			return nil, nil, cli.Hinted(err, "--nats names another broker, --store the folder of one that does not run")
		}
		return c, c.Close, nil
	}
	if _, err := os.Stat(o.store); err != nil {
		return nil, nil, err
	}
	s, err := broker.Start(broker.Options{Store: o.store, Log: slog.New(slog.NewTextHandler(io.err, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	if errors.Is(err, broker.ErrInUse) {
		return nil, nil, cli.Hinted(err, "it runs: ask it by --nats")
	}
	if err != nil {
		return nil, nil, err
	}
	c, err := s.Connect(broker.Dial{})
	if err != nil {
		s.Close()
		return nil, nil, err
	}
	return c, func() { c.Close(); s.Close() }, nil
}

// write writes the file, and prints how many rows are in it. A file that is not complete is removed.
func (o *exportOptions) write(ctx context.Context, js jetstream.JetStream, x export.Options, file string, to streams) error {
	var w io.Writer = to.out
	var f *os.File
	if file != "-" {
		// With --force the new file takes the place of the old one, or of a link, once it is whole.
		switch info, err := os.Lstat(file); {
		case err == nil && !o.force:
			return cli.Hinted(fmt.Errorf("%s: is there already", file), "--force replaces it")
		case err == nil && !info.Mode().IsRegular() && info.Mode()&os.ModeSymlink == 0:
			return cli.Hinted(fmt.Errorf("%s: is no regular file", file), "name another one; - is standard output")
		}
		var err error
		if f, err = os.CreateTemp(filepath.Dir(file), ".qsniff-export-*"); err != nil {
			return err
		}
		w = f
	}
	b := bufio.NewWriterSize(w, 1<<20)
	counts, err := export.Write(ctx, js, b, x)
	if err == nil {
		err = b.Flush()
	}
	if f != nil {
		err = errors.Join(err, f.Close())
		if err == nil {
			err = os.Rename(f.Name(), file)
		}
		if err != nil {
			_ = os.Remove(f.Name()) // the error is why it is gone
		}
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(to.err, "qsniff-hub: %s; %s refused\n", digits.Counted(counts.Rows, "row"), digits.Counted(counts.Refused, "message"))
	return nil
}
