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
	"qsniff/capture/ring"
	"qsniff/internal/digits"
)

// keepOptions are the flags about files of packets.
type keepOptions struct {
	write      string
	ringSize   amount
	ringTime   time.Duration
	ringFiles  int
	onIncident int // seconds
	force      bool
	bounded    bool // --ring-size or --ring-files was given, be it to lift the limits
}

// The limits of --on-incident where no flag of the ring sets others. An attack of 30,000
// queries a second is 9 MB of packets a second: without a limit one of an hour was 32 GB.
// Its kind, its sources and its payloads show in the first seconds.
const (
	mostOfIncident  = 128 << 20 // bytes; chosen: 14 s of that attack, after what preceded it
	mostOfIncidents = 16        // files of this run, one an incident; with the above 2 GiB, which small servers can spare
)

func (o *keepOptions) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&o.write, "write", "w", "", "write the packets to `FILE`, as pcapng, or as pcap if it ends in .pcap; with --ring-... and --on-incident its name begins those of several files")
	f.BoolVar(&o.force, "force", false, "overwrite the FILE of -w if it is there")
	f.Var(&o.ringSize, "ring-size", "begin another file after so many bytes")
	f.DurationVar(&o.ringTime, "ring-time", 0, "begin another file after this `TIME`: 1h, 10m")
	f.IntVar(&o.ringFiles, "ring-files", 0, "keep `N` files, and remove the oldest (0: all)")
	f.IntVar(&o.onIncident, "on-incident", 0, "write only from so many `SECONDS` before an incident to as many after it")
	for _, name := range []string{"ring-size", "ring-time", "ring-files", "on-incident"} {
		propose(cmd, name, cobra.NoFileCompletions)
	}
}

func (o *keepOptions) check() error {
	switch {
	case o.write == "" && (o.rings() || o.onIncident != 0):
		return &usageError{errors.New("--ring-size, --ring-time, --ring-files and --on-incident go with -w"), "name a file, such as -w /var/captures/q.pcapng"}
	case o.write == stdin:
		return &usageError{errors.New("-w -: packets are written to files"), "tcpdump -w - writes them to standard output"}
	case o.ringTime < 0 || o.ringFiles < 0 || o.onIncident < 0:
		return &usageError{errors.New("--ring-time, --ring-files, --on-incident: less than nothing"), "leave out what is not to be bounded"}
	case o.force && (o.write == "" || o.several()):
		return &usageError{errors.New("--force goes with -w FILE, without --ring-size, --ring-time, --ring-files and --on-incident"), "several files get new names, and overwrite none"}
	case o.write == "":
		return nil
	case o.ringFiles > 0 && o.ringSize == 0 && o.ringTime == 0 && o.onIncident == 0:
		return &usageError{errors.New("--ring-files goes with --ring-size, --ring-time or --on-incident"), "nothing else begins another file"}
	}
	if _, err := file.FormatOf(o.write); err != nil {
		return &usageError{err, "leave the ending out"}
	}
	return nil
}

func (o *keepOptions) rings() bool { return o.ringSize != 0 || o.ringTime != 0 || o.ringFiles != 0 }

// several reports whether packets go to files whose names begin with that of -w.
func (o *keepOptions) several() bool { return o.rings() || o.onIncident != 0 }

// limited reports whether the limits of --on-incident hold.
func (o *keepOptions) limited() bool { return o.onIncident != 0 && !o.bounded }

// flushEvery is how much packet time a file lets pass before packets are in it: what
// a program that is killed may lose.
const flushEvery = ring.DefaultFlush

// keeper is where packets go that are kept.
type keeper struct {
	sink    sink // one of the others
	ring    *ring.Writer
	trigger *ring.Trigger
	file    *file.Writer
}

// open opens what the flags name; nil if nothing is to be kept. memory is that of
// packets which wait for an incident, in bytes.
func (o *keepOptions) open(described capture.Describer, memory int) (*keeper, error) {
	how := file.WriteOptions{Interfaces: described, Application: "qsniff", FlushEvery: flushEvery, Replace: o.force}
	switch {
	case o.write == "":
		return nil, nil
	case !o.several():
		w, err := file.Create(o.write, how)
		if err != nil {
			return nil, err
		}
		return &keeper{sink: w, file: w}, nil
	}
	files := ring.Options{Path: o.write, Size: int64(o.ringSize), Time: o.ringTime, Files: o.ringFiles, Write: how}
	if o.limited() {
		files.Files, files.Own = mostOfIncidents, true
	}
	w, err := ring.Open(files)
	if err != nil {
		return nil, err
	}
	k := &keeper{sink: w, ring: w}
	if o.onIncident > 0 {
		k.trigger, err = ring.NewTrigger(w, time.Duration(o.onIncident)*time.Second, memory)
		if err != nil {
			w.Close()
			return nil, err
		}
		if o.limited() {
			k.trigger.Most = mostOfIncident
		}
		k.sink = k.trigger
	}
	return k, nil
}

// sink takes packets, and is told the time where none come.
type sink interface {
	Write(*capture.Packet) error
	Tick(nanos int64) error
}

// close finishes the files.
func (k *keeper) close() error {
	var first error
	if k.trigger != nil {
		first = k.trigger.Close()
	}
	var err error
	if k.ring != nil {
		err = k.ring.Close()
	} else {
		err = k.file.Close()
	}
	if first == nil {
		first = err
	}
	return first
}

// tell says what became of the packets.
func (k *keeper) tell(w io.Writer) {
	if k.ring == nil {
		s := k.file.Stats()
		fmt.Fprintf(w, "qsniff: %s written%s\n", count(s.Packets, "packet"), k.lost(s.Lost, s.Refused))
		return
	}
	s := k.ring.Stats()
	removed := ""
	if s.Removed > 0 {
		removed = fmt.Sprintf(", %s removed for newer ones", count(s.Removed, "file was", "files were"))
	}
	fmt.Fprintf(w, "qsniff: %s written to %s%s%s\n", count(s.Packets, "packet"), count(s.Files, "file"), removed, k.lost(s.Lost, s.Refused))
	if k.trigger == nil {
		return
	}
	if n := k.trigger.Stats().Over; n > 0 {
		fmt.Fprintf(w, "qsniff: %s not written: beyond %s of an incident (--ring-files 0 writes all)\n",
			count(n, "packet was", "packets were"), digits.Bytes(mostOfIncident))
	}
	if k.trigger.Stats().Cut > 0 {
		fmt.Fprintf(w, "qsniff: memory was too short for all that preceded %s (--memory)\n", count(k.trigger.Stats().Cut, "incident"))
	}
}

// gets says what the files will have in them.
func (o *keepOptions) gets() string {
	switch name := strings.TrimSuffix(o.write, path.Ext(o.write)); {
	case o.onIncident > 0:
		said := fmt.Sprintf("%s_*%s get packets from %d s before each incident to %d s after it", name, path.Ext(o.write), o.onIncident, o.onIncident)
		if o.limited() {
			said += fmt.Sprintf(", of each %s at most, and the %d newest files of this run are kept (--ring-files 0: all of it; --ring-size, --ring-files: other limits),",
				digits.Bytes(mostOfIncident), mostOfIncidents)
		}
		return said
	case o.rings():
		return fmt.Sprintf("%s_*%s get packets", name, path.Ext(o.write))
	}
	return o.write + " gets packets"
}

// failed is the error of files that lack packets.
func (k *keeper) failed() error {
	lost := uint64(0)
	if k.ring != nil {
		lost = k.ring.Stats().Lost
	} else {
		lost = k.file.Stats().Lost
	}
	if lost == 0 {
		return nil
	}
	return fmt.Errorf("-w: %s could not be written", count(lost, "packet"))
}

func (k *keeper) lost(lost, refused uint64) string {
	out := ""
	if lost > 0 {
		out = fmt.Sprintf(", %d could not be", lost)
	}
	if refused > 0 {
		out += fmt.Sprintf(", %d do not fit the format", refused)
	}
	return out
}
