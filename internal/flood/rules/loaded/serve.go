package loaded

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"qsniff/internal/flood/advice"
)

// programs are where nft may be. A search path is not asked: the program is run with a right.
var programs = []string{"/usr/sbin/nft", "/sbin/nft", "/usr/bin/nft", "/usr/local/sbin/nft", "/run/current-system/sw/bin/nft"}

// Program returns the program that lists the rules; empty: there is none.
func Program() string {
	for _, name := range programs {
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			return name
		}
	}
	return ""
}

// CanRead reports whether there is a program that lists the rules.
func CanRead() bool {
	return Program() != "" || slices.ContainsFunc(ipTools, func(tool string) bool { return ipSave(tool) != "" })
}

// ipSave returns the program that lists what a tool of iptables loaded; empty: there is none.
func ipSave(tool string) string {
	for _, folder := range []string{"/usr/sbin/", "/sbin/", "/run/current-system/sw/bin/"} {
		name := folder + tool + "-save"
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			return name
		}
	}
	return ""
}

// Folders returns those of the folders with the program and its libraries that there are.
func Folders() (all []string) {
	for _, name := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/run/current-system/sw/bin"} {
		if _, err := os.Stat(name); err == nil {
			all = append(all, name)
		}
	}
	return all
}

// lister runs the program.
type lister struct {
	program string
	nothing *os.File // its standard input
	last    Table
	clock   func() time.Time
}

// Serve answers each line of in with a Table on out, until in ends. nothing is an empty file: once rights
// are given up, none can be opened.
func Serve(in io.Reader, out io.Writer, program string, nothing *os.File) error {
	l := &lister{program: program, nothing: nothing, clock: time.Now}
	orders, answers := bufio.NewScanner(in), json.NewEncoder(out)
	for orders.Scan() {
		if err := answers.Encode(l.read()); err != nil {
			return err
		}
	}
	return orders.Err()
}

// read returns what is loaded. When the rules were loaded is asked once for each time that they are.
func (l *lister) read() *Table {
	if l.program == "" {
		return l.readIPTables()
	}
	text, err := l.list("table", "inet", advice.Table)
	if err != nil {
		l.last = Table{}
		if errors.Is(err, errNotThere) {
			return l.readIPTables()
		}
		return &Table{Problem: err.Error()}
	}
	list, err := parse(bytes.NewReader(text))
	if err != nil {
		return &Table{Problem: err.Error()}
	}
	t := list.table()
	switch set := list.untilSet(); {
	case l.last.IsLoaded && l.last.Handle == t.Handle:
		t.Since, t.Expires = l.last.Since, l.last.Expires
	case set != "":
		if text, err = l.list("set", "inet", advice.Table, set); err != nil {
			break
		}
		if age, left, ok := parseAge(bytes.NewReader(text)); ok {
			now := l.clock().Unix()
			t.Since, t.Expires = now-age, now+left
		}
	}
	l.last = *t
	l.last.Targets = nil
	return t
}

var errNotThere = errors.New("there is no such table")

// list runs the program with "-j -t list" and so many words more: as JSON, without the elements of tables
// that a flood fills.
func (l *lister) list(words ...string) ([]byte, error) {
	args := []string{"-j", "-t", "list"}
	if words[0] == "set" { // whose elements are wanted
		args = []string{"-j", "list"}
	}
	out, said, err := l.run(l.program, append(args, words...)...)
	switch {
	case err == nil:
		return out, nil
	case strings.Contains(said, "No such file or directory"):
		return nil, errNotThere
	case strings.Contains(said, "not permitted"):
		return nil, errors.New("the right to read the firewall is missing (CAP_NET_ADMIN)")
	case errors.Is(err, errTooMuch):
		return nil, errors.New("nft lists too much")
	}
	return nil, errors.New("nft failed")
}

var errTooMuch = errors.New("too much")

// run runs a program, and returns what it prints and the first line of what it complains about.
func (l *lister) run(program string, args ...string) (printed []byte, said string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	var out, errs limited
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = l.nothing, &out, &errs, []string{"LC_ALL=C"}
	cmd.WaitDelay = patience
	err = cmd.Run()
	said, _, _ = strings.Cut(strings.TrimSpace(errs.String()), "\n")
	if err == nil && out.isFull {
		err = errTooMuch
	}
	return out.Bytes(), said, err
}

// readIPTables returns what is loaded with iptables, where nothing is with nft. A tool that is missing or fails has
// loaded nothing that could be read.
func (l *lister) readIPTables() *Table {
	texts := map[string][]byte{}
	for _, tool := range ipTools {
		if name := ipSave(tool); name != "" {
			if text, _, err := l.run(name, "-c"); err == nil {
				texts[tool] = text
			}
		}
	}
	return parseIPTables(texts)
}

// limited keeps so many bytes of what a program prints, and drops the rest.
type limited struct {
	bytes.Buffer
	isFull bool
}

// Write implements io.Writer.
func (b *limited) Write(text []byte) (int, error) {
	if room := longestListing - b.Len(); len(text) > room {
		b.isFull = true
		b.Buffer.Write(text[:room])
	} else {
		b.Buffer.Write(text)
	}
	return len(text), nil
}

// limit: patience is how long a run of nft may take. Chosen: it takes 8 ms, on a busy machine a second.
const patience = 5 * time.Second
