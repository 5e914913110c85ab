package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/internal/base/digits"
	"qsniff/internal/base/display"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render/manual"
)

// listed is a capture of the folder.
type listed struct {
	Capture string `json:"capture"`
	Bytes   int64  `json:"bytes"`
	Changed string `json:"changed"`         // time of the file, UTC
	First   string `json:"first,omitempty"` // time of the first packet, UTC; empty if there is none
	Error   string `json:"error,omitempty"` // why it cannot be read
}

// listCaptures answers list_captures. A page looks into at most maxPeeks files, those of other
// kinds among them.
func (r *reader) listCaptures(ctx context.Context, args *listArgs) (*answer, error) {
	limit, err := args.limit()
	if err != nil {
		return nil, err
	}
	all, err := r.in.list(ctx)
	if err != nil {
		return nil, fmt.Errorf("the folder cannot be read: %w", err)
	}
	q := &question{tool: "list_captures"}
	from, err := q.place(args.Cursor)
	if err != nil {
		return nil, err
	}
	a := &answer{Items: []any{}, Page: &page{From: from, Limit: MaxAnswer}}
	if all.isCut {
		a.Notes = append(a.Notes, fmt.Sprintf("the folder has more than %s entries, or folders more than %d deep: the rest is not listed", digits.Grouped(maxFiles), maxDepth))
	}
	if all.unnamed > 0 {
		a.Notes = append(a.Notes, digits.Counted(uint64(all.unnamed), "file")+" with names that are not UTF-8 cannot be asked for")
	}
	at, others, err := r.peekAll(ctx, a, all.files, from, limit)
	if err != nil {
		return nil, err
	}
	if others > 0 {
		a.Notes = append(a.Notes, digits.Counted(uint64(others), "other file")+" passed over: no captures")
	}
	if a.Page.Records = len(a.Items); at < len(all.files) {
		a.Page.Next = q.cursor(at)
	} else if len(a.Items) == 0 && from == 0 {
		a.Notes = append(a.Notes, "no captures in this folder")
	}
	return a, nil
}

// peekAll fills a with captures among files, from number from on. It returns the number of the
// file that follows, and how many were no captures.
func (r *reader) peekAll(ctx context.Context, a *answer, files []string, from, limit int) (at, others int, err error) {
	const notesRoom = 200 // for what is noted afterwards
	room, err := a.room()
	if err != nil {
		return from, 0, err
	}
	room -= notesRoom
	var batch capture.Batch
	for at = from; at < len(files) && len(a.Items) < limit && at-from < maxPeeks; at++ {
		if err := ctx.Err(); err != nil {
			return at, others, err
		}
		one, ok := r.peek(files[at], &batch)
		if !ok {
			others++
			continue
		}
		b, err := encode(one)
		if err != nil {
			return at, others, err
		}
		if len(b)+1 > room {
			break
		}
		room -= len(b) + 1
		a.Items = append(a.Items, one)
	}
	return at, others, nil
}

// peek returns the entry of a file in a list; ok is false if the file is no capture.
func (r *reader) peek(name string, batch *capture.Batch) (l listed, ok bool) {
	utc := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	l.Capture = name
	f, err := r.in.open(name)
	if err != nil {
		l.Error = err.Error()
		return l, true
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return l, false
	}
	l.Bytes, l.Changed = info.Size(), utc(info.ModTime())
	in, err := file.NewReader(f, name)
	if errors.Is(err, file.ErrFormat) || errors.Is(err, io.ErrUnexpectedEOF) {
		return l, false
	} else if err != nil {
		l.Error = unreadable(err).Error()
		return l, true
	}
	defer in.Close()
	batch.Packets = batch.Packets[:0]
	in.Read(batch) // of its error only the absence of packets matters here
	if len(batch.Packets) > 0 {
		l.First = utc(time.Unix(0, batch.Packets[0].Nanos))
	}
	return l, true
}

// refuse returns the error that a capture cannot be read, with what to do.
func (r *reader) refuse(ctx context.Context, name string, err error) error {
	quoted := quote(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("capture %s: %w; list_captures has the names that can be read", quoted, err)
	}
	all, err := r.in.list(ctx)
	if err != nil {
		return fmt.Errorf("no capture %s, and the folder cannot be listed: %w", quoted, err)
	}
	near, what := nearest(name, all.files), "did you mean %s?"
	if len(near) == 0 {
		near, what = r.firstCaptures(all.files), "it begins with %s;"
	}
	if len(near) == 0 {
		return fmt.Errorf("no capture %s in the folder, and none at its begin", quoted)
	}
	for i := range near {
		near[i] = quote(near[i])
	}
	return fmt.Errorf("no capture %s in the folder: "+what+" list_captures has all", quoted, strings.Join(near, ", "))
}

// quote returns a name between quotes, escaped.
func quote(name string) string {
	return string(append(display.AppendEscaped([]byte{'"'}, []byte(name), '"'), '"'))
}

// firstCaptures returns the first captures among files, at most three.
func (r *reader) firstCaptures(files []string) (found []string) {
	const few, most = 3, 50
	var batch capture.Batch
	for _, name := range files[:min(len(files), most)] {
		if l, ok := r.peek(name, &batch); ok && l.Error == "" && len(found) < few {
			found = append(found, name)
		}
	}
	return found
}

// explain answers explain.
func (r *reader) explain(_ context.Context, args *explainArgs) (*answer, error) {
	var ids []string
	for _, f := range manual.Findings(r.o.Codes) {
		if strings.EqualFold(f.ID, args.ID) {
			return &answer{Items: []any{f}}, nil
		}
		ids = append(ids, f.ID)
	}
	for _, k := range manual.Kinds() {
		if strings.EqualFold(k.ID, args.ID) {
			return &answer{Items: []any{k}}, nil
		}
		ids = append(ids, k.ID)
	}
	if len(args.ID) > maxExpression {
		return nil, errors.New("no id is that long; ids stand in the answers of findings, summary and incidents")
	}
	return nil, fmt.Errorf("no finding and no kind of incident has the id %q%s; ids stand in the answers of findings, summary and incidents",
		args.ID, didYouMean(args.ID, ids))
}

// field is a field that filters can use.
type field struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Doc     string `json:"doc"`
	Example string `json:"values,omitempty"` // or all that there are
}

// fields answers fields.
func (r *reader) fields(_ context.Context, args *fieldsArgs) (*answer, error) {
	limit, err := args.limit()
	if err != nil {
		return nil, err
	}
	if len(args.Pattern) > maxExpression {
		return nil, errors.New("no name is that long")
	}
	if err := manual.CheckPattern(args.Pattern); err != nil {
		return nil, fmt.Errorf("pattern: %w; a part of a name is enough", err)
	}
	var found []field
	var names []string
	for _, f := range manual.Rows(filter.Fields(r.o.Config.Registry, filter.Options{UTC: true, Codes: r.o.Codes})) {
		if f.Filter == nil {
			continue
		}
		names = append(names, f.Name)
		if manual.Match(args.Pattern, f.Name) {
			x := field{f.Name, f.Filter.Name, f.Doc, f.Filter.Example}
			if len(f.Values) > 0 {
				x.Example = f.ValueList()
			}
			found = append(found, x)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no field matches %q%s; without pattern all are listed", args.Pattern, didYouMean(args.Pattern, names))
	}
	a := &answer{Notes: []string{"operators: == != < > <= >= contains matches in {1..5}; && || ! ( ); a name alone asks whether the message has it"}}
	return a, pageOfItems(a, &question{tool: "fields", filter: args.Pattern}, found, args.Cursor, limit)
}
