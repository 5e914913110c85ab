package diff

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/internal/app/cli"
	"qsniff/internal/pipeline/subset"
	"qsniff/internal/track/diff"
)

// ClassFiles are files with the packets of each class: one for each class and capture that has any.
type ClassFiles struct {
	Dir     string
	Replace bool                   // files that are there are overwritten
	Shows   *[diff.NumClasses]bool // the classes that get files
	frames  [2][diff.NumClasses]subset.Frames
}

// Add adds a packet to a class. It is for diff.Options.Judged.
func (f *ClassFiles) Add(side diff.Side, c diff.Class, frame uint64) { f.frames[side][c].Add(frame) }

// Write reads both captures again, writes the files, and returns how many there are.
func (f *ClassFiles) Write(ctx context.Context, open func(diff.Side) (capture.Source, error)) (files int, err error) {
	if err := os.MkdirAll(f.Dir, 0o700); err != nil {
		return 0, cli.Hinted(fmt.Errorf("-w %s: %w", f.Dir, cli.Reason(err)), "choose a folder that can be made")
	}
	for side, name := range [...]string{"edge", "host"} {
		src, err := open(diff.Side(side))
		if err != nil {
			return files, err
		}
		described, _ := src.(capture.Describer)
		var to [diff.NumClasses]*file.Writer
		for c := range diff.NumClasses {
			if len(f.frames[side][c]) == 0 || !f.Shows[c] {
				continue
			}
			path := filepath.Join(f.Dir, c.String()+"-"+name+".pcapng")
			w, err := file.Create(path, file.WriteOptions{Interfaces: described, Application: "qsniff", Replace: f.Replace})
			if err != nil {
				src.Close()
				return files, err
			}
			to[c] = w
			files++
		}
		err = copyClasses(ctx, src, &to, &f.frames[side])
		for _, w := range to {
			if w != nil {
				err = errors.Join(err, w.Close())
			}
		}
		if err = errors.Join(err, src.Close()); err != nil {
			return files, err
		}
	}
	return files, nil
}

// copyClasses copies packets to the files of their classes. Damage ends the copy where it ended the comparison, which
// has reported it.
func copyClasses(ctx context.Context, src capture.Source, to *[diff.NumClasses]*file.Writer, frames *[diff.NumClasses]subset.Frames) error {
	var b capture.Batch
	for ctx.Err() == nil {
		end := src.Read(&b)
		for i := range b.Packets {
			for c, w := range to {
				if p := &b.Packets[i]; w != nil && frames[c].Has(p.No) {
					if err := w.Write(p); err != nil {
						return err
					}
				}
			}
		}
		if end != nil {
			return nil
		}
	}
	return ctx.Err()
}
