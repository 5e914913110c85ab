// Package keep writes the packets of a live capture to files on their way to the
// decoder: all of them, the newest, or those around incidents. It detects no incidents:
// the caller reports them to Alarms. While the decoder takes no packets, they are written
// all the same, so that a reader of the output that stalls costs messages and no packets.
//
// A packet arrives: Tap reads it from the source, writes it to the sink of Keeper (a
// file, a ring of files, or a trigger that writes to a ring), and returns it to the
// decoder.
package keep

import (
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/capture/ring"
	"qsniff/internal/base/digits"
)

// Options are which packets are kept, and where.
type Options struct {
	Path      string        // of the file; of several, the beginning of their names; "-" with To
	To        io.Writer     // gets the packets, as pcapng, in place of a file; nil: there is one
	Size      int64         // bytes after which another file begins; 0: no limit
	Time      time.Duration // after which another file begins; 0: no limit
	Files     int           // newest files that stay; 0: all
	Total     int64         // bytes of all files; 0: no limit
	Age       time.Duration // of files until they are removed; 0: no limit
	Around    time.Duration // only packets of so long before and after incidents; 0: all
	LimitsSet bool          // the user set Size or Files, maybe to no limit
	Replace   bool          // an existing file is overwritten
	// Beside and Finished are those of ring.Options.
	Beside   string
	Finished func(path string)
}

// HasRing reports whether Size, Time, Files, Total or Age make packets go to a ring of files.
func (o *Options) HasRing() bool {
	return o.Size != 0 || o.Time != 0 || o.Files != 0 || o.Total != 0 || o.Age != 0
}

// HasSeveralFiles reports whether packets go to several files, whose names begin with
// Path.
func (o *Options) HasSeveralFiles() bool { return o.HasRing() || o.Around != 0 }

// HasDefaultLimits reports whether MostOfIncident applies, and MostOfIncidents unless Total does.
func (o *Options) HasDefaultLimits() bool { return o.Around != 0 && !o.LimitsSet }

// toStream is the Path of packets that go to To.
const toStream = "-"

// Describe returns in words which files get which packets.
func (o *Options) Describe() string {
	ext := path.Ext(o.Path)
	switch name := strings.TrimSuffix(o.Path, ext); {
	case o.Around > 0:
		words := fmt.Sprintf("%s_*%s get packets from %d s before each incident to %[3]d s after it", name, ext, o.Around/time.Second)
		if o.HasDefaultLimits() {
			words += fmt.Sprintf(", of each %s at most, and ", digits.Bytes(MostOfIncident))
			if o.Total == 0 {
				words += fmt.Sprintf("the %d newest files of this run are kept (--ring-files 0: all of it; --ring-size, --ring-files: other limits),", MostOfIncidents)
			} else {
				words += fmt.Sprintf("of all %s,", digits.Bytes(float64(o.Total)))
			}
		}
		return words
	case o.HasRing():
		return fmt.Sprintf("%s_*%s get packets", name, ext)
	case o.Path == toStream:
		return "standard output gets packets, as pcapng,"
	}
	return o.Path + " gets packets"
}

// Keeper writes the packets that are kept.
type Keeper struct {
	sink    sink // trigger if there is one, else ring or file
	ring    *ring.Writer
	trigger *ring.Trigger
	file    *file.Writer
}

// sink is what packets are written to. Tick moves its time while no packets arrive.
type sink interface {
	Write(*capture.Packet) error
	Tick(nanos int64) error
}

// Open opens the file or the ring that o names. described has the interfaces for pcapng;
// memory, in bytes, is that of packets which wait for an incident.
func Open(o *Options, described capture.Describer, memory int) (*Keeper, error) {
	how := file.WriteOptions{Interfaces: described, Application: "qsniff", FlushEvery: ring.DefaultFlush, Replace: o.Replace}
	if o.To != nil {
		w := file.NewWriter(o.To, "standard output", how)
		return &Keeper{sink: w, file: w}, nil
	}
	if !o.HasSeveralFiles() {
		w, err := file.Create(o.Path, how)
		if err != nil {
			return nil, err
		}
		return &Keeper{sink: w, file: w}, nil
	}
	files := ring.Options{Path: o.Path, Size: o.Size, Time: o.Time, Files: o.Files, Total: o.Total, Age: o.Age, Write: how,
		Beside: o.Beside, Finished: o.Finished}
	if o.HasDefaultLimits() && o.Total == 0 {
		files.Files, files.OwnOnly = MostOfIncidents, true
	}
	w, err := ring.Open(files)
	if err != nil {
		return nil, err
	}
	k := &Keeper{sink: w, ring: w}
	if o.Around > 0 {
		k.trigger, err = ring.NewTrigger(w, o.Around, memory)
		if err != nil {
			w.Close()
			return nil, err
		}
		if o.HasDefaultLimits() {
			k.trigger.MaxBytes = MostOfIncident
		}
		k.sink = k.trigger
	}
	return k, nil
}

// Close finishes the files.
func (k *Keeper) Close() error {
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

// Folder returns the folder in which a ring creates files, "" where there is one file,
// which is open already.
func (k *Keeper) Folder() string {
	if k.ring == nil {
		return ""
	}
	return k.ring.Folder()
}

// Stats counts what happened to packets. Counters of a writer that is not in use are zero.
type Stats struct {
	File file.WriteStats
	Ring ring.Stats
	Cuts ring.TriggerStats
}

// Lost returns how many packets could not be written.
func (s *Stats) Lost() uint64 { return s.File.Lost + s.Ring.Lost }

// Lines returns how many packets were written, to one file or to several, and how many could not be.
func (s *Stats) Lines(several bool) []string {
	number := func(n uint64, words ...string) string { return fmt.Sprint(n, " ", digits.Noun(n, words...)) }
	missing := ""
	if n := s.Lost(); n > 0 {
		missing = fmt.Sprintf(", %d could not be", n)
	}
	if n := s.File.Refused + s.Ring.Refused; n > 0 {
		missing += fmt.Sprintf(", %d do not fit the format", n)
	}
	if !several {
		return []string{number(s.File.Packets, "packet") + " written" + missing}
	}
	line := number(s.Ring.Packets, "packet") + " written to " + number(s.Ring.Files, "file")
	if n := s.Ring.Removed; n > 0 {
		line += fmt.Sprintf(", %s removed for newer ones", number(n, "file was", "files were"))
	}
	lines := []string{line + missing}
	if n := s.Cuts.Over; n > 0 {
		lines = append(lines, fmt.Sprintf("%s not written: beyond %s of an incident (--ring-files 0 writes all)",
			number(n, "packet was", "packets were"), digits.Bytes(MostOfIncident)))
	}
	return lines
}

// Stats returns the counts so far.
func (k *Keeper) Stats() (s Stats) {
	if k.file != nil {
		s.File = k.file.Stats()
	}
	if k.ring != nil {
		s.Ring = k.ring.Stats()
	}
	if k.trigger != nil {
		s.Cuts = k.trigger.Stats()
	}
	return s
}

// limit: The limits of files around incidents where the user sets no others. An attack of 30,000
// queries a second is 9 MB of packets a second: without a limit one of an hour was 32 GB.
// Its kind, its sources and its payloads show in the first seconds.
const (
	MostOfIncident  = 128 << 20 // bytes; chosen: 14 s of that attack, after what preceded it
	MostOfIncidents = 16        // files of this run, one an incident; with the above 2 GiB, which small servers can spare
)
