package main

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/capture/keep"
	"qsniff/internal/base/cli"
	"qsniff/internal/base/digits"
	"qsniff/internal/base/shell"
	"qsniff/internal/render/counters"
)

// reportSuffix follows the name of a capture in that of its report.
const reportSuffix = ".html"

// keepOptions are the flags about files of packets.
type keepOptions struct {
	write      string
	ringSize   cli.ByteSize
	ringTime   time.Duration
	ringFiles  int
	ringTotal  cli.ByteSize
	ringAge    time.Duration
	onIncident int // seconds
	reports    bool
	force      bool
	isBounded  bool // --ring-size or --ring-files was given, if only to lift the limits
}

func (o *keepOptions) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&o.write, "write", "w", "", "write the packets to `FILE`, as pcapng, or as pcap if it ends in .pcap; with --ring-... and --on-incident its name begins those of several files")
	f.BoolVar(&o.force, "force", false, "overwrite the FILE of -w if it is there")
	f.Var(&o.ringSize, "ring-size", "begin another file after so many bytes")
	f.DurationVar(&o.ringTime, "ring-time", 0, "begin another file after this `TIME`: 1h, 10m")
	f.IntVar(&o.ringFiles, "ring-files", 0, "keep `N` files, and remove the oldest (0: all)")
	f.Var(&o.ringTotal, "ring-total", "remove the oldest files before all have more than so many bytes")
	f.DurationVar(&o.ringAge, "ring-age", 0, "remove files this `TIME` after their last packet: 168h")
	f.IntVar(&o.onIncident, "on-incident", 0, "write only from so many `SECONDS` before an incident to as many after it")
	f.BoolVar(&o.reports, "incident-report", false, "with --on-incident: make a report of each file beside it, as NAME.html")
	for _, name := range []string{"ring-size", "ring-time", "ring-files", "ring-total", "ring-age", "on-incident"} {
		propose(cmd, name, cobra.NoFileCompletions)
	}
}

func (o *keepOptions) check() error {
	switch {
	case o.write == "" && (o.options().HasRing() || o.onIncident != 0):
		return &usageError{errors.New("--ring-size and the like, and --on-incident, go with -w"), "name a file, such as -w /var/captures/q.pcapng"}
	case o.reports && o.onIncident == 0:
		return &usageError{errors.New("--incident-report goes with --on-incident"), "--on-incident 30 writes what surrounds incidents; qsniff report makes a page of any capture"}
	case o.write == stdin:
		return &usageError{errors.New("-w -: packets are written to files"), "tcpdump -w - writes them to standard output"}
	case o.ringTime < 0 || o.ringFiles < 0 || o.ringAge < 0 || o.onIncident < 0:
		return &usageError{errors.New("--ring-time, --ring-files, --ring-age, --on-incident: less than nothing"), "leave out what is not to be bounded"}
	case o.force && (o.write == "" || o.options().HasSeveralFiles()):
		return &usageError{errors.New("--force goes with -w FILE, without --ring-size and the like, and --on-incident"), "several files get new names, and overwrite none"}
	case o.write == "":
		return nil
	case o.ringTotal > 0 && o.ringTotal < leastTotal:
		return &usageError{fmt.Errorf("--ring-total: at least %s", digits.Bytes(leastTotal)), "the longest packets need that"}
	case (o.ringFiles > 0 || o.ringAge > 0) && o.ringSize == 0 && o.ringTime == 0 && o.ringTotal == 0 && o.onIncident == 0:
		return &usageError{errors.New("--ring-files and --ring-age go with --ring-size, --ring-time, --ring-total or --on-incident"), "nothing else begins another file"}
	}
	if _, err := file.FormatOf(o.write); err != nil {
		return &usageError{err, "leave the ending out"}
	}
	return nil
}

// options returns the options of package keep by the flags.
func (o *keepOptions) options() *keep.Options {
	return &keep.Options{Path: o.write, Size: int64(o.ringSize), Time: o.ringTime, Files: o.ringFiles, Total: int64(o.ringTotal), Age: o.ringAge,
		Around: time.Duration(o.onIncident) * time.Second, LimitsSet: o.isBounded, Replace: o.force, Beside: reportSuffix}
}

// leastTotal is the least value of --ring-total. Chosen: eight files of which each has room for
// several of the longest packets.
const leastTotal = 8 << 20

// open opens the files of -w, and calls finished with each of several that is whole. It returns nil
// if nothing is to be written.
func (o *keepOptions) open(described capture.Describer, memory int, finished func(path string)) (*keep.Keeper, error) {
	if o.write == "" {
		return nil, nil
	}
	k := o.options()
	k.Finished = finished
	return keep.Open(k, described, memory)
}

// printKept prints how many packets were written, and how many could not be.
func printKept(w io.Writer, s *keep.Stats, several bool) {
	missing := ""
	if n := s.Lost(); n > 0 {
		missing = fmt.Sprintf(", %d could not be", n)
	}
	if n := s.File.Refused + s.Ring.Refused; n > 0 {
		missing += fmt.Sprintf(", %d do not fit the format", n)
	}
	if !several {
		fmt.Fprintf(w, "qsniff: %s written%s\n", count(s.File.Packets, "packet"), missing)
		return
	}
	removed := ""
	if n := s.Ring.Removed; n > 0 {
		removed = fmt.Sprintf(", %s removed for newer ones", count(n, "file was", "files were"))
	}
	fmt.Fprintf(w, "qsniff: %s written to %s%s%s\n", count(s.Ring.Packets, "packet"), count(s.Ring.Files, "file"), removed, missing)
	if n := s.Cuts.Over; n > 0 {
		fmt.Fprintf(w, "qsniff: %s not written: beyond %s of an incident (--ring-files 0 writes all)\n",
			count(n, "packet was", "packets were"), digits.Bytes(keep.MostOfIncident))
	}
	printHints(w, &counters.Result{Files: *s}, counters.Files)
}

// writtenFiles returns the files as a shell finds them.
func (o *keepOptions) writtenFiles() string {
	if !o.options().HasSeveralFiles() {
		return shell.Quote(o.write)
	}
	ext := path.Ext(o.write)
	return shell.Quote(strings.TrimSuffix(o.write, ext)) + "_*" + ext
}

// describe returns which files get which packets.
func (o *keepOptions) describe() string {
	switch name := strings.TrimSuffix(o.write, path.Ext(o.write)); {
	case o.onIncident > 0:
		words := fmt.Sprintf("%s_*%s get packets from %d s before each incident to %d s after it", name, path.Ext(o.write), o.onIncident, o.onIncident)
		if o.options().HasDefaultLimits() {
			words += fmt.Sprintf(", of each %s at most, and ", digits.Bytes(keep.MostOfIncident))
			if o.ringTotal == 0 {
				words += fmt.Sprintf("the %d newest files of this run are kept (--ring-files 0: all of it; --ring-size, --ring-files: other limits),", keep.MostOfIncidents)
			} else {
				words += fmt.Sprintf("of all %s,", digits.Bytes(float64(o.ringTotal)))
			}
		}
		return words
	case o.options().HasRing():
		return fmt.Sprintf("%s_*%s get packets", name, path.Ext(o.write))
	}
	return o.write + " gets packets"
}
