package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/internal/app/diff"
)

// writeClasses writes the packets of each class that is listed: a file for each class and capture that
// has any.
func (o *diffOptions) writeClasses(ctx context.Context, s streams, open func(diff.Side) (capture.Source, error), frames *[2][diff.NumClasses]frameSet) error {
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return &hintedError{fmt.Errorf("-w %s: %w", o.dir, systemReason(err)), "choose a folder that can be made"}
	}
	n := 0
	for side, name := range [...]string{"edge", "host"} {
		src, err := open(diff.Side(side))
		if err != nil {
			return err
		}
		described, _ := src.(capture.Describer)
		var to [diff.NumClasses]*file.Writer
		for c := range diff.NumClasses {
			if len(frames[side][c]) == 0 || !o.shows[c] {
				continue
			}
			path := filepath.Join(o.dir, c.String()+"-"+name+".pcapng")
			w, err := file.Create(path, file.WriteOptions{Interfaces: described, Application: "qsniff", Replace: o.write.force})
			if err != nil {
				src.Close()
				return err
			}
			to[c] = w
			n++
		}
		err = copyClasses(ctx, src, &to, &frames[side])
		for _, w := range to {
			if w != nil {
				err = errors.Join(err, w.Close())
			}
		}
		if err = errors.Join(err, src.Close()); err != nil {
			return err
		}
	}
	fmt.Fprintf(s.err, "qsniff: wrote %s to %s, as captured, passwords included\n", count(uint64(n), "file"), o.dir)
	return nil
}

// copyClasses copies packets to the files of their classes. Damage ends the copy where it ended the comparison, which
// has reported it.
func copyClasses(ctx context.Context, src capture.Source, to *[diff.NumClasses]*file.Writer, frames *[diff.NumClasses]frameSet) error {
	var b capture.Batch
	for ctx.Err() == nil {
		end := src.Read(&b)
		for i := range b.Packets {
			for c, w := range to {
				if p := &b.Packets[i]; w != nil && frames[c].has(p.No) {
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
