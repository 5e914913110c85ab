package html

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"testing"
)

// hostile has what must not leave a text: ends of elements, comments, separators of lines,
// controls and changes of direction.
const hostile = "</script><script>alert(1)</script><!-- & \u2028\u2029 \u202egnp.exe \x00 ]]> {{script}} {{csp}}"

// pageOf returns the page of a report.
func pageOf(t *testing.T, title string, report []byte) []byte {
	t.Helper()
	var page bytes.Buffer
	err := WriteReport(&page, title, func(out io.Writer) error {
		_, err := out.Write(report)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return page.Bytes()
}

// TestReport: the page has each part once, its policy allows exactly the style and the script
// that are in it, and whatever texts the report has come back from its data alone.
func TestReport(t *testing.T) {
	data, err := json.Marshal(map[string]string{"name": hostile})
	if err != nil {
		t.Fatal(err)
	}
	plain := bytes.NewBuffer(nil)
	enc := json.NewEncoder(plain)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(map[string]string{"name": hostile}); err != nil {
		t.Fatal(err)
	}
	for _, report := range [][]byte{data, plain.Bytes()} {
		page := string(pageOf(t, "report of </title>\u202e<b>", report))
		for _, part := range []string{"<!doctype html>", "</title>", "<style>", "</style>", `<script type="application/json" id="report">`, "<script>", `http-equiv="Content-Security-Policy"`} {
			if n := strings.Count(page, part); n != 1 {
				t.Errorf("%s stands there %d times", part, n)
			}
		}
		m := regexp.MustCompile(`(?s)<script type="application/json" id="report">(.*?)</script>`).FindStringSubmatch(page)
		var got map[string]string
		if m == nil || json.Unmarshal([]byte(m[1]), &got) != nil || got["name"] != hostile {
			t.Errorf("the data is %q", m)
		} else if strings.ContainsAny(m[1], "<>&\u2028\u2029") {
			t.Errorf("the data is not escaped: %s", m[1])
		}
		for _, kind := range []string{"script", "style"} {
			text := regexp.MustCompile(`(?s)<` + kind + `>(.*?)</` + kind + `>`).FindStringSubmatch(page)
			if text == nil || !strings.Contains(page, kind+"-src '"+hash([]byte(text[1]))+"'") {
				t.Errorf("the policy does not allow the %s", kind)
			}
		}
		if m := regexp.MustCompile(`(?s)<title>(.*?)</title>`).FindStringSubmatch(page); m == nil || strings.ContainsAny(m[1], "<>\u202e") {
			t.Errorf("title %q", m)
		}
		if strings.Contains(page, "unsafe-") {
			t.Error("the policy allows too much")
		}
	}
}

// TestNoReferences: neither the frame nor the style nor the script loads anything.
func TestNoReferences(t *testing.T) {
	page := pageOf(t, "title", []byte("{}"))
	for _, m := range regexp.MustCompile(`(?i)(src|href|action|srcset)\s*=\s*["'][^"']*["']`).FindAll(frame, -1) {
		if !strings.Contains(string(m), `"data:,"`) {
			t.Errorf("the frame refers to %s", m)
		}
	}
	for _, m := range regexp.MustCompile(`(?i)url\([^)]*\)|@import[^;]*`).FindAll(style, -1) {
		t.Errorf("the style refers to %s", m)
	}
	allowed := regexp.MustCompile(`^https?://www\.w3\.org/`) // names of namespaces
	for _, m := range regexp.MustCompile(`(?i)(https?|wss?)://[a-z0-9][^"'\x60 )]*`).FindAll(page, -1) {
		if !allowed.Match(m) {
			t.Errorf("the page names %s", m)
		}
	}
	for _, slot := range []string{"{{csp}}", "{{title}}", "{{style}}", "{{report}}", "{{script}}"} {
		if n := bytes.Count(frame, []byte(slot)); n != 1 {
			t.Errorf("%s is in the frame %d times", slot, n)
		}
	}
	if bytes.Contains(script, []byte("</script")) || bytes.Contains(script, []byte("<!--")) || bytes.Contains(style, []byte("</style")) {
		t.Error("the script or the style would end its element")
	}
}
