package main

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

var (
	// endless matches commands that capture, serve, take the terminal or run until somebody ends them, and those
	// whose output is about this machine.
	endless = regexp.MustCompile(`\bsudo\b| -i | --tzsp | --follow\b|\bqsniff (?:live|replay|top|browse|interfaces)\b`)
	monitor = regexp.MustCompile(`\bqsniff monitor\b`)
	// standsFor matches what stands for the name of a file, isFile what is one.
	standsFor = regexp.MustCompile(`^[A-Z]{2,}$`)
	isFile    = regexp.MustCompile(`^/[a-z]+/[a-z]|^[^-].*\.(?:pcap|pcapng|zst|gz|toml|txt|bin|jsonl?|lua)$`)
	setsName  = regexp.MustCompile(`^[A-Z]+=`)
)

// portable are the programs that an example may run: they print the same on every machine. The first three need not
// be installed: the runner brings qsniff, and every shell has the others.
var portable = []string{"qsniff", "echo", "test", "cat", "jq"}

// writesTo are the words that come before the name of a file to write.
var writesTo = []string{">", "-w", "-o", "--fixtures"}

// exemption returns why an example is not run, "" if it is. The comment of the command has the rule.
func (r *runner) exemption(line string) string {
	if endless.MatchString(line) || monitor.MatchString(line) && !strings.Contains(line, "--check") {
		return "needs root or a network, or a terminal, or does not end"
	}
	for _, command := range splitCommands(line) {
		command = slices.DeleteFunc(command, setsName.MatchString)
		if len(command) == 0 {
			continue
		}
		if !slices.Contains(portable, command[0]) {
			return "runs " + command[0]
		}
		for i, word := range command[1:] {
			isOut := slices.Contains(writesTo, command[i]) || command[1] == "anonymize" && i == len(command)-2
			if _, there := r.files[word]; !isOut && !there && (standsFor.MatchString(word) || isFile.MatchString(word)) {
				return "takes " + word
			}
		}
	}
	return ""
}

// missingProgram returns the first program of a line that is not installed here.
func missingProgram(line string) string {
	for _, command := range splitCommands(line) {
		command = slices.DeleteFunc(command, setsName.MatchString)
		if len(command) == 0 || slices.Contains(portable[:3], command[0]) {
			continue
		}
		if _, err := exec.LookPath(command[0]); err != nil {
			return command[0]
		}
	}
	return ""
}

// splitCommands returns the words of each command of a line, as far as examples go: with quotes, pipes, lists and
// output into files.
func splitCommands(line string) (commands [][]string) {
	var words []string
	var word strings.Builder
	var quote rune
	inWord := false
	end := func() {
		if inWord {
			words = append(words, word.String())
		}
		word.Reset()
		inWord = false
	}
	for _, c := range line {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, inWord = c, true
		case quote != 0 || !strings.ContainsRune(" |;&>", c):
			word.WriteRune(c)
			inWord = true
		default:
			end()
			if c == '>' {
				words = append(words, ">")
			} else if c != ' ' && len(words) > 0 {
				commands, words = append(commands, words), nil
			}
		}
	}
	end()
	return append(commands, words)
}
