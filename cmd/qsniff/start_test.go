package main

import (
	"io"
	"slices"
	"strings"
	"testing"
)

// TestStartPage: it has every command, in 20 lines that fit a terminal.
func TestStartPage(t *testing.T) {
	lines := strings.Split(strings.TrimSuffix(startPage, "\n"), "\n")
	if len(lines) > 20 {
		t.Errorf("%d lines", len(lines))
	}
	for _, line := range lines {
		if len(line) > 80 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	root := newRoot(streams{io.Discard, io.Discard})
	_, list, _ := strings.Cut(startPage, "\nRead:")
	list, _, _ = strings.Cut(list, "\nExamples:")
	var names []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
			if !slices.Contains(strings.Fields(list), c.Name()) {
				t.Errorf("%s is missing", c.Name())
			}
		}
	}
	got, _, status := output(t)
	if got != startPage || status != exitOK {
		t.Errorf("qsniff alone: %d, %s", status, got)
	}
	seen := map[string]string{}
	for command, words := range topics {
		if !slices.Contains(names, command) {
			t.Errorf("topic of no command: %s", command)
		}
		for _, word := range strings.Fields(words) {
			if seen[word] != "" || slices.Contains(names, word) {
				t.Errorf("%s leads to %s and %s", word, command, seen[word])
			}
			seen[word] = command
		}
	}
}

// TestTopics: a word that people look for, or a misspelt command, leads to the command.
func TestTopics(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"help", "attack"}, "qsniff: help: no command is called \"attack\"\n  hint: did you mean qsniff help floods?\n"},
		{[]string{"help", "lvie"}, "did you mean qsniff help live?"},
		{[]string{"help", "nothing"}, "hint: qsniff --help lists the commands"},
		{[]string{"DDoS"}, "qsniff: DDoS: no such command, and no such file\n  hint: did you mean qsniff floods?\n"},
		{[]string{"lvie", "-i", "lo"}, "did you mean qsniff live?"},
	} {
		if _, errs, status := output(t, tc.args...); status != exitUsage || !strings.Contains(errs, tc.want) {
			t.Errorf("%q: status %d\ngot  %s\nwant %s", tc.args, status, errs, tc.want)
		}
	}
}
