package extcap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"time"

	"qsniff/capture/file"
	"qsniff/capture/live"
	"qsniff/capture/packet"
	"qsniff/dissect"
	"qsniff/internal/base/sandbox"
	"qsniff/internal/pipeline"
	"qsniff/internal/render/text"
)

// Prefix begins the names of interfaces that Wireshark shows.
const Prefix = "qsniff-"

// List lists the interfaces on which this program may capture.
func List(out io.Writer) error {
	fmt.Fprintln(out, "extcap {version=1.0}{display=qsniff: queries of game servers}")
	all, err := live.Devices()
	if err != nil {
		return err
	}
	for i := range all {
		if all[i].Up {
			fmt.Fprintf(out, "interface {value=%s%s}{display=qsniff on %s}\n", Prefix, all[i].Name, all[i].Name)
		}
	}
	return nil
}

// ListLinkType lists the link type of an interface, and reports whether there is one of that name. pcapng names
// that of each packet itself.
func ListLinkType(out io.Writer, name string) (found bool, err error) {
	all, err := live.Devices()
	if err != nil {
		return false, err
	}
	for i := range all {
		if Prefix+all[i].Name == name {
			link := packet.LinkName(all[i].Link)
			_, err = fmt.Fprintf(out, "dlt {number=%d}{name=%s}{display=%s}\n", all[i].Link, link, link)
			return true, err
		}
	}
	return false, nil
}

// Options are what Wireshark asks for.
type Options struct {
	Interface, Filter, Pipe string
	OnlyQueries             bool
	Registry                *dissect.Registry
	Application             string // name and version of this program
	Clock                   func() int64
}

// Capture captures on an interface until ctx ends or Wireshark closes the pipe. It returns how many packets of
// messages came too fast to be written.
func Capture(ctx context.Context, o *Options) (missed uint64, err error) {
	var auto *live.AutoFilter
	if o.OnlyQueries && o.Filter == "" {
		auto = pipeline.AutoFilter(o.Registry, nil)
	}
	src, err := live.Open(live.Options{Interfaces: []string{strings.TrimPrefix(o.Interface, Prefix)}, Filter: o.Filter, AutoFilter: auto})
	if err != nil {
		return 0, err
	}
	defer src.Close()
	pipe, err := os.OpenFile(o.Pipe, os.O_WRONLY, 0)
	if err != nil {
		return 0, fmt.Errorf("extcap: %w", err)
	}
	defer pipe.Close()
	tap := NewTap(src)
	out := file.NewWriter(pipe, o.Pipe, file.WriteOptions{Format: file.Pcapng, Interfaces: tap, Application: o.Application})
	tap.Out = out
	if err := out.Begin(); err != nil {
		return 0, err
	}
	_ = time.Local.String() // loads the time zone, which is a file
	if _, err := sandbox.Enter(sandbox.Policy{}); err != nil {
		return 0, err
	}
	defer context.AfterFunc(ctx, src.Stop)()
	_, err = pipeline.Run(context.WithoutCancel(ctx), pipeline.Config{Source: tap, Registry: o.Registry, Jobs: 1, Out: tap,
		Renderer: Renderer{Line: text.NewLine(text.Options{Bare: true})}, Clock: o.Clock, Seed: rand.Uint64() | 1})
	if err = errors.Join(err, out.Close()); errors.Is(err, syscall.EPIPE) { // Wireshark stopped
		err = nil
	}
	return tap.Missed(), err
}
