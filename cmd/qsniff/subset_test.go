//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/capture"
	"qsniff/capture/file"
)

// TestWrite: -w writes the packets of all messages and no others, bytes, times, interfaces
// and comments as they were, with any number of goroutines and from a pipe alike.
func TestWrite(t *testing.T) {
	someCaptures(t, func(t *testing.T, _ int, name string) {
		dir := t.TempDir()
		written := func(out string, args ...string) []byte {
			t.Helper()
			path := filepath.Join(dir, out)
			if _, errs, status := output(t, append([]string{"read", smallTables, "-w", path}, args...)...); status != exitOK {
				t.Fatalf("%v: exit status %d: %s", args, status, errs)
			}
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		one := written("one.pcapng", "--jobs", "1", name)
		if !bytes.Equal(one, written("piped.pcapng", "--jobs", "4", piped(t, dir, name))) {
			t.Error("another file is made of a pipe, with --jobs 4")
		}
		var want, comments []string
		lines, _, _ := output(t, "read", smallTables, "-o", "json", name)
		frames := framesOf(t, lines)
		eachPacket(t, name, func(p *capture.Packet, about []string) {
			if frames[p.No] {
				want = append(want, packetText(p))
				comments = append(comments, strings.Join(about, "|"))
			}
		})
		i := 0
		eachPacket(t, filepath.Join(dir, "one.pcapng"), func(p *capture.Packet, about []string) {
			if i < len(want) && packetText(p) != want[i] {
				if !strings.Contains(strings.Join(about, "|"), "part of frame ") {
					t.Errorf("packet %d is\n%s, want\n%s", i+1, packetText(p), want[i])
				}
				return // of many short segments the list of the message has some
			}
			ours := slices.IndexFunc(about, func(s string) bool { return strings.HasPrefix(s, "qsniff: ") })
			if ours < 0 {
				t.Errorf("packet %d has no comment", i+1)
			} else if i < len(want) && strings.Join(about[:ours], "|") != comments[i] {
				t.Errorf("packet %d: comments %q, want those of the capture first: %q", i+1, about, comments[i])
			}
			i++
		})
		if i != len(want) {
			t.Errorf("%d packets, want %d", i, len(want))
		}
	}, "split", "rcon", "ase")
}

// framesOf returns the packets of all messages.
func framesOf(t *testing.T, lines string) map[uint64]bool {
	t.Helper()
	frames := map[uint64]bool{}
	for line := range strings.Lines(lines) {
		var m struct {
			Record string
			Frame  uint64
			Frames []uint64
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		if m.Record != "" && m.Record != "reply" {
			continue
		}
		frames[m.Frame] = true
		for _, f := range m.Frames {
			frames[f] = true
		}
	}
	return frames
}

// eachPacket calls f with the packets of a capture, and the comments about them.
func eachPacket(t *testing.T, name string, f func(*capture.Packet, []string)) {
	t.Helper()
	src, err := file.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var b capture.Batch
	for {
		err := src.Read(&b)
		for i := range b.Packets {
			var about []string
			for _, c := range b.Comments {
				if c.At == i {
					about = append(about, string(c.Text))
				}
			}
			f(&b.Packets[i], about)
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func packetText(p *capture.Packet) string {
	return strconv.FormatInt(p.Nanos, 10) + " " + strconv.Itoa(int(p.Link)) + " " + strconv.Itoa(int(p.Wire)) + " " + strconv.Quote(string(p.Data))
}

// piped returns the name of a pipe through which a capture comes.
func piped(t *testing.T, dir, name string) string {
	t.Helper()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		if f, err := os.OpenFile(pipe, os.O_WRONLY, 0); err == nil {
			_, _ = f.Write(b)
			f.Close()
		}
	}()
	return pipe
}

// TestWriteForTshark: tshark reads what is written, and finds the comments.
func TestWriteForTshark(t *testing.T) {
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("there is no tshark here")
	}
	for _, tc := range []struct{ capture, want string }{
		{"a2s/full-poll.pcap", "4\tqsniff: frame 4: reply a2s S2A_INFO_SRC 20ms name=\"Test server\""},
		{"split/source-old-two-parts.pcap", "qsniff: part of frame "},
	} {
		out := filepath.Join(t.TempDir(), "out.pcapng")
		if _, errs, status := output(t, "read", "-w", out, filepath.Join(pcapfiles, tc.capture)); status != exitOK {
			t.Fatal(errs)
		}
		got, err := exec.Command(tshark, "-r", out, "-T", "fields", "-e", "frame.number", "-e", "frame.comment").Output()
		if err != nil || !strings.Contains(string(got), tc.want) {
			t.Errorf("%s: %v\n%s\nwant %q in it", tc.capture, err, got, tc.want)
		}
	}
}

// TestMask: what --mask writes decodes to the same messages, holds no secret of the captures,
// and has checksums as good as before.
func TestMask(t *testing.T) {
	someCaptures(t, func(t *testing.T, i int, name string) {
		if !holdsSecret(t, name) {
			return
		}
		dir := t.TempDir()
		masked, plain := filepath.Join(dir, "masked.pcapng"), filepath.Join(dir, "plain.pcapng")
		for _, args := range [][]string{{"-w", masked, "--mask"}, {"-w", plain}} {
			if _, errs, status := output(t, append([]string{"read", smallTables, name}, args...)...); status != exitOK {
				t.Fatal(errs)
			}
		}
		b, err := os.ReadFile(masked)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range secretWords {
			if i := bytes.Index(b, []byte(word)); i >= 0 {
				t.Errorf("%q is in it: %q", word, b[max(i-30, 0):i+30])
			}
		}
		before, after := outlines(t, plain), outlines(t, masked)
		if strings.HasSuffix(filepath.ToSlash(name), "/goldsource/rcon-split-rewritten.pcap") {
			// Two copies of a part that differ only in what is overwritten are one part after it.
			before, after = withoutFragments(before), withoutFragments(after)
		}
		if strings.HasSuffix(filepath.ToSlash(name), "/rcon/impossible-size.pcap") {
			// Bytes that belong to no packet are overwritten, and it is decided later that they do not.
			slices.Sort(before)
			slices.Sort(after)
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("before -, after +\n%s", diff)
		}
		if i%16 != 0 || testing.Short() && i%48 != 0 {
			return // tshark takes a second
		}
		if before, after := checksums(t, plain), checksums(t, masked); before != after {
			t.Errorf("checksums are\n%s, were\n%s", after, before)
		}
	})
}

// checksums returns which checksums of a capture are right (1), wrong (0) and not verified
// (2), as tshark finds; nothing where there is no tshark.
func checksums(t *testing.T, name string) string {
	t.Helper()
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		return ""
	}
	args := []string{"-r", name, "-T", "fields"}
	for _, proto := range []string{"ip", "udp", "tcp"} {
		args = append(args, "-o", proto+".check_checksum:TRUE", "-e", proto+".checksum.status")
	}
	out, err := exec.Command(tshark, args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// withoutFragments leaves out of outlines the messages that lack parts.
func withoutFragments(outlines []string) []string {
	return slices.DeleteFunc(outlines, func(o string) bool { return strings.Contains(o, " fragment ") })
}

// outlines returns what the messages of a capture are, without what they hold.
func outlines(t *testing.T, name string) (list []string) {
	t.Helper()
	lines, _, _ := output(t, "read", smallTables, "-o", "json", name)
	for line := range strings.Lines(lines) {
		var m struct {
			Record, Protocol, Message, Direction, Status string
			Frame                                        uint64
			Length                                       int
			Exchange                                     struct{ ID uint64 }
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		if m.Record == "" {
			list = append(list, fmt.Sprint(m))
		}
	}
	return list
}
