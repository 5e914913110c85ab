package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// dialogueForms are the ways to print dialogues, JSON first.
var dialogueForms = [][]string{{"-o", "json", "--layout"}, {"-o", "text", "--full"}, {"-o", "tree"}, {"-o", "hex"}, {"-o", "csv"}}

// TestDialogues holds for every capture: what is printed is harmless and shows no
// secret, in each form, and it has each message once. With -short, forms take turns in
// captures without secrets.
func TestDialogues(t *testing.T) {
	someCaptures(t, func(t *testing.T, i int, name string) {
		forms := dialogueForms
		if testing.Short() && !holdsSecret(t, name) {
			turn := i / 2 % len(forms) // someCaptures has every second
			forms = forms[turn : turn+1]
		}
		for _, form := range forms {
			out, errs, status := output(t, append([]string{"follow", "--utc", name}, form...)...)
			if status != exitOK {
				t.Errorf("exit status %d: %s", status, errs)
			}
			harmless(t, strings.ReplaceAll(out, "\r\n", "\n"))
			secretless(t, out+undumpedPlain(out)+undumped(out))
			if form[1] == "json" {
				sameMessages(t, out, printedOf(t, name).forms["json"])
			}
		}
	}, "goldsource", "hostile", "rcon", "split")
}

// plainRow matches a row of a dump without names.
var plainRow = regexp.MustCompile(`(?m)^ {6}((?:(?:[0-9a-f]{2}|\*\*) {1,2}){1,16}) +(.*)$`)

// undumpedPlain joins what stands in rows, as undumped does.
func undumpedPlain(dump string) string {
	var bytes, text strings.Builder
	for _, m := range plainRow.FindAllStringSubmatch(dump, -1) {
		bytes.WriteString(strings.ReplaceAll(m[1], " ", ""))
		text.WriteString(m[2])
	}
	return bytes.String() + "\n" + text.String()
}

// sameMessages holds the messages of dialogues against those that read prints.
func sameMessages(t *testing.T, dialogues, messages string) {
	t.Helper()
	var got []string
	for line := range strings.Lines(dialogues) {
		var d struct{ Messages, Records []json.RawMessage }
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		for _, m := range append(d.Messages, d.Records...) {
			got = append(got, string(m))
		}
	}
	want := strings.Split(strings.TrimSuffix(messages, "\n"), "\n")
	if messages == "" {
		want = nil
	}
	want = slices.DeleteFunc(want, func(line string) bool { return strings.Contains(line, `"record":"incident"`) }) // of no dialogue
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read -, follow +\n%s", diff)
	}
}

// TestDialoguesShowSecrets: what TestDialogues does not find is found where secrets are
// shown.
func TestDialoguesShowSecrets(t *testing.T) {
	for name, want := range map[string]string{"goldsource/rcon-passwords": "Secret", "rcon/reply-three-packets": "s3cr3t-w0rd"} {
		for _, form := range dialogueForms[:4] {
			out, _, _ := output(t, append([]string{"follow", "--show-secrets", pcapfiles + "/" + name + ".pcap"}, form...)...)
			if !strings.Contains(out+undumpedPlain(out)+undumped(out), want) {
				t.Errorf("%s %v: no secret in\n%s", name, form, out)
			}
		}
	}
}

// TestDialoguesTogether: many captures at once, with little memory, give the same with
// any number of goroutines; with -short in two forms.
func TestDialoguesTogether(t *testing.T) {
	t.Parallel()
	forms := dialogueForms
	if testing.Short() {
		forms = forms[:2]
	}
	for _, form := range forms {
		args := slices.Concat([]string{"follow", "--utc", "--memory", "16M"}, form, captures(t))
		one, _, status := output(t, append(args, "--jobs", "1")...)
		if status != exitOK || len(one) < 30_000 {
			t.Fatalf("%v: exit status %d, %d bytes", form, status, len(one))
		}
		if four, _, _ := output(t, append(args, "--jobs", "4")...); four != one {
			t.Errorf("%v: one goroutine -, four +\n%s", form, cmp.Diff(one, four))
		}
	}
}
