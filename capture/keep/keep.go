// Package keep writes the packets of a live capture to files on their way to the
// decoder: all of them, the newest, or those around incidents. It detects nothing: who
// finds incidents tells Alarms. Where the decoder stands still, files get the packets all
// the same, so that a slow reader of the output costs messages and no packets.
//
// A packet arrives: Tap reads it from the source, gives it to the sink of Keeper (a file,
// a ring of files, or a trigger before a ring), then to the decoder.
package keep

import (
	"time"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/capture/ring"
)

// Options say what is kept, and where.
type Options struct {
	Path    string        // of the file; of several, the beginning of their names
	Size    int64         // bytes after which another file begins; 0: no limit
	Time    time.Duration // after which another file begins; 0: no limit
	Files   int           // newest files that stay; 0: all
	Around  time.Duration // only packets of so long before and after incidents; 0: all
	Bounded bool          // somebody set Size or Files, be it to lift the limits
	Replace bool          // a file that is there is overwritten
}

// HasRing reports whether there is a limit of a ring.
func (o *Options) HasRing() bool { return o.Size != 0 || o.Time != 0 || o.Files != 0 }

// HasSeveral reports whether packets go to files whose names begin with Path.
func (o *Options) HasSeveral() bool { return o.HasRing() || o.Around != 0 }

// IsLimited reports whether MostOfIncident and MostOfIncidents hold.
func (o *Options) IsLimited() bool { return o.Around != 0 && !o.Bounded }

// Keeper is where packets go that are kept.
type Keeper struct {
	sink    sink // one of the others
	ring    *ring.Writer
	trigger *ring.Trigger
	file    *file.Writer
}

// sink takes packets, and is told the time where none come.
type sink interface {
	Write(*capture.Packet) error
	Tick(nanos int64) error
}

// Open opens what o names. memory is that of packets which wait for an incident, in
// bytes.
func Open(o *Options, described capture.Describer, memory int) (*Keeper, error) {
	how := file.WriteOptions{Interfaces: described, Application: "qsniff", FlushEvery: ring.DefaultFlush, Replace: o.Replace}
	if !o.HasSeveral() {
		w, err := file.Create(o.Path, how)
		if err != nil {
			return nil, err
		}
		return &Keeper{sink: w, file: w}, nil
	}
	files := ring.Options{Path: o.Path, Size: o.Size, Time: o.Time, Files: o.Files, Write: how}
	if o.IsLimited() {
		files.Files, files.Own = MostOfIncidents, true
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
		if o.IsLimited() {
			k.trigger.Most = MostOfIncident
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

// Folder is that of several files, in which new ones are created; empty where there is
// one file, which is open.
func (k *Keeper) Folder() string {
	if k.ring == nil {
		return ""
	}
	return k.ring.Folder()
}

// Stats counts what became of packets; what is not in use stays zero.
type Stats struct {
	File file.WriteStats
	Ring ring.Stats
	Cuts ring.TriggerStats
}

// Lost is how many packets could not be written.
func (s *Stats) Lost() uint64 { return s.File.Lost + s.Ring.Lost }

// Stats counts what has happened so far.
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
