package messenger

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"qsniff/internal/monitor/notify"
)

// hookSink sends notes to a service. Only the host of its URL may be shown.
type hookSink struct {
	hook   atomic.Pointer[notify.Hook] // a reload changes it
	client *http.Client
	now    func() time.Time
}

// newHook returns the sink of a hook. roots are the authorities that servers' certificates are
// checked by.
func newHook(h notify.Hook, roots *x509.CertPool, now func() time.Time) *hookSink {
	dialer := &net.Dialer{Timeout: requestTime, Resolver: &net.Resolver{PreferGo: true}} // the C library's loads more of itself when it is asked
	s := &hookSink{now: now, client: &http.Client{
		Timeout: requestTime,
		// A redirect is an answer like any other: the body, and a token, are for this host only.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			MaxResponseHeaderBytes: longestAnswer, DisableKeepAlives: true, DisableCompression: true,
		},
	}}
	s.hook.Store(&h)
	return s
}

func (s *hookSink) name() string { h := s.hook.Load(); return h.Service + " at " + h.Host() }

func (s *hookSink) close() error { return nil }

// send sends a note once.
func (s *hookSink) send(ctx context.Context, n *notify.Note, lost uint64) error {
	req, err := makeRequest(s.hook.Load(), n, lost)
	if err != nil {
		return &failure{err: withoutURL(err), isFinal: true}
	}
	answer, err := s.client.Do(req.WithContext(ctx))
	if err != nil {
		return withoutURL(err)
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, longestAnswer) // so that the service is not cut off while it answers
	return s.judge(answer)
}

// judge returns the error that an answer means, if any. The text of the answer is not shown.
func (s *hookSink) judge(answer *http.Response) error {
	code := answer.StatusCode
	err := fmt.Errorf("it answers %d %s", code, http.StatusText(code))
	switch {
	case code >= 200 && code < 300:
		return nil
	case code >= 300 && code < 400:
		return &failure{err: fmt.Errorf("%w, and redirects are not followed", err), isFinal: true}
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests, code >= 500:
		return &failure{err: err, wait: s.retryAfter(answer.Header.Get("Retry-After"))}
	}
	return &failure{err: err, isFinal: true}
}

// retryAfter returns the time that a header names, in seconds or as a date; 0 if it names none.
func (s *hookSink) retryAfter(value string) time.Duration {
	if seconds, err := strconv.ParseFloat(value, 64); err == nil { // Discord has fractions
		return time.Duration(min(max(seconds, 0), longestAsked.Seconds()) * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(s.now()))
	}
	return 0
}

// withoutURL returns an error of package http without the URL, which is a secret.
func withoutURL(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		if e.Timeout() {
			return errors.New("no answer in time")
		}
		return e.Err
	}
	return err
}

// makeRequest returns the request that brings a note to a service.
func makeRequest(h *notify.Hook, n *notify.Note, lost uint64) (*http.Request, error) {
	x, err := render(h, n, lost)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequest(x.method, x.url, bytes.NewReader(x.body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "qsniff")
	if h.Token != "" {
		req.Header.Set("Authorization", "Bearer "+h.Token)
	}
	return req, nil
}

// loadHooks reads the file of services, if one is named. From then on the services in the
// configuration and in the file get notes. One that got notes before keeps those that wait for it, and
// the record of those that it got; with a new address at the same host, or a new token, it is still
// the same one. An error leaves all as it was.
func (s *server) loadHooks(name string) error {
	next := slices.Clone(s.config.Hooks)
	if name != "" {
		hooks, err := notify.LoadHooks(name)
		if err != nil {
			return err
		}
		next = append(next, hooks...)
	}
	for i := range next {
		if h := &next[i]; s.ports != nil && !slices.Contains(s.ports, h.Port()) {
			return fmt.Errorf("%s: port %d of %s at %s takes a restart: the process has given up the right to it", name, h.Port(), h.Service, h.Host())
		}
	}
	roots, err := x509.SystemCertPool()
	if err != nil && len(next) > 0 {
		return err
	}
	s.hooks = next
	left := slices.DeleteFunc(s.list(), func(p *post) bool { _, is := p.sink.(*hookSink); return !is })
	claim := func(h notify.Hook, isSame func(a, b *notify.Hook) bool) bool {
		i := slices.IndexFunc(left, func(p *post) bool { return isSame(p.sink.(*hookSink).hook.Load(), &h) })
		if i >= 0 {
			left[i].sink.(*hookSink).hook.Store(&h)
			left = slices.Delete(left, i, i+1)
		}
		return i >= 0
	}
	next = slices.DeleteFunc(slices.Clone(next), func(h notify.Hook) bool {
		return claim(h, func(a, b *notify.Hook) bool { return *a == *b })
	})
	next = slices.DeleteFunc(next, func(h notify.Hook) bool {
		return claim(h, func(a, b *notify.Hook) bool { return a.Service == b.Service && a.Host() == b.Host() })
	})
	for _, p := range left {
		s.remove(p)
	}
	for _, h := range next {
		p := s.add(newHook(h, roots, s.opt.clock.now), 1)
		p.every = s.config.Every
		p.pace.every, p.pace.burst = sendEvery, sendBurst
		if s.start != nil {
			s.start(p)
		}
	}
	return nil
}

// remove ends a post. Notes that wait for it are not delivered.
func (s *server) remove(p *post) {
	p.queue.Close()
	p.queue.Drop()
	p.stop()
	s.mu.Lock()
	s.posts = slices.DeleteFunc(s.posts, func(x *post) bool { return x == p })
	s.mu.Unlock()
	c := p.sinkCounts()
	s.log(fmt.Sprintf("%s: it is told no more; %d were not delivered", p.name, c.Lost+c.Refused+uint64(c.Waiting)))
}

// request is what a service is sent.
type request struct {
	method, url string
	body        []byte
}

// render returns the request that brings a note, before which so many were lost, to a service.
func render(h *notify.Hook, n *notify.Note, lost uint64) (request, error) {
	r := request{method: http.MethodPost, url: h.URL}
	var form any
	switch h.Service {
	case "json":
		r.body = n.Line
		return r, nil
	case "discord":
		form = discordMessage(n, lost)
	case "slack":
		form = slackMessage(n, lost)
	case "matrix":
		r.method, r.url = http.MethodPut, matrixURL(h.URL, n)
		form = matrixMessage(n, lost)
	case "ntfy":
		base, topic := splitTopic(h.URL)
		r.url = base
		form = ntfyMessage(topic, n, lost)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(form)
	r.body = b.Bytes()
	return r, err
}

// title returns the first line: the same for all notes of an incident, as long as its kind is.
func title(n *notify.Note) string {
	s := strings.ToUpper(n.Level) + " " + n.Kind
	if n.Target != "" {
		s += " at " + n.Target
	}
	if n.Name != "" {
		s += " (" + unlink(n.Name) + ")"
	}
	return notify.Cut(s, longestTitle)
}

// leads precede the text of a note.
var leads = map[notify.Event]string{notify.Begins: "New: ", notify.Changes: "Goes on: ", notify.Ends: "Over: "}

// story returns what happened, and what to do about it unless it is over.
func story(n *notify.Note) string {
	s := leads[n.Event] + n.Text
	if n.Record == "finding" {
		s = leads[n.Event] + unlink(n.Text)
	}
	if n.Advice != "" && n.Event != notify.Ends {
		s += "\n\nWhat to do: " + n.Advice
	}
	return notify.Cut(s, longestText)
}

// footer returns the thread, and how many notes are missing.
func footer(n *notify.Note, lost uint64) string {
	if lost == 0 {
		return n.Thread
	}
	return n.Thread + "; " + strconv.FormatUint(lost, 10) + " notes before this one were lost"
}

// plain returns a note as lines of text without the title.
func plain(n *notify.Note, lost uint64) string {
	var b strings.Builder
	b.WriteString(story(n) + "\n\n")
	for i, f := range n.Facts {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(f.Name + " " + f.Value)
	}
	b.WriteString("\n" + footer(n, lost))
	return b.String()
}

// unlink keeps text from the network from being made into a link or a mention, as services do with
// what looks like one: an invisible break follows each of its marks.
func unlink(s string) string { return breaker.Replace(s) }

// wordBreak is a zero width space.
const wordBreak = "\u200b"

var breaker = strings.NewReplacer(".", "."+wordBreak, ":", ":"+wordBreak, "@", "@"+wordBreak, "/", "/"+wordBreak, "#", "#"+wordBreak)

// colour returns the colour of a message: over, alert, or less than that.
func colour(n *notify.Note) int {
	switch {
	case n.Event == notify.Ends:
		return 0x2e7d32
	case n.IsUrgent():
		return 0xc62828
	}
	return 0xf9a825
}

// discord is a message to a webhook of Discord. AllowedMentions is empty, so that no text is
// a mention.
type discord struct {
	Username        string         `json:"username"`
	AllowedMentions map[string]any `json:"allowed_mentions"`
	Embeds          []discordEmbed `json:"embeds"`
}

type discordEmbed struct {
	Title       string         `json:"title"`
	Description string         `json:"description"`
	Color       int            `json:"color"`
	Timestamp   string         `json:"timestamp"`
	Fields      []discordField `json:"fields"`
	Footer      map[string]any `json:"footer"`
}

type discordField struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Inline bool   `json:"inline"`
}

func discordMessage(n *notify.Note, lost uint64) discord {
	e := discordEmbed{Title: escapeMarkdown(title(n)), Description: escapeMarkdown(story(n)), Color: colour(n),
		Timestamp: time.Unix(0, n.Nanos).UTC().Format(time.RFC3339), Footer: map[string]any{"text": footer(n, lost)}, Fields: []discordField{}}
	for _, f := range n.Facts {
		e.Fields = append(e.Fields, discordField{f.Name, escapeMarkdown(f.Value), true})
	}
	return discord{"qsniff", map[string]any{"parse": []string{}}, []discordEmbed{e}}
}

// escapeMarkdown puts a backslash before each character that Discord's markup may begin or end
// with.
func escapeMarkdown(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune("\\*_~`|<>@#[]()-:+!", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// slack is a message to a webhook of Slack, and of those who take the same. Text and attachment
// are no markup; what is left of it are <, > and &, which are escaped.
type slack struct {
	Text        string            `json:"text"`
	Markdown    bool              `json:"mrkdwn"`
	LinkNames   int               `json:"link_names"`
	UnfurlLinks bool              `json:"unfurl_links"`
	UnfurlMedia bool              `json:"unfurl_media"`
	Attachments []slackAttachment `json:"attachments"`
}

type slackAttachment struct {
	Fallback   string       `json:"fallback"`
	Color      string       `json:"color"`
	Text       string       `json:"text"`
	Fields     []slackField `json:"fields"`
	Footer     string       `json:"footer"`
	Time       int64        `json:"ts"`
	MarkdownIn []string     `json:"mrkdwn_in"`
}

type slackField struct {
	Title string `json:"title"`
	Value string `json:"value"`
	Short bool   `json:"short"`
}

func slackMessage(n *notify.Note, lost uint64) slack {
	a := slackAttachment{Fallback: escapeSlack(title(n)), Color: fmt.Sprintf("#%06x", colour(n)), Text: escapeSlack(story(n)),
		Footer: escapeSlack(footer(n, lost)), Time: n.Nanos / int64(time.Second), MarkdownIn: []string{}, Fields: []slackField{}}
	for _, f := range n.Facts {
		a.Fields = append(a.Fields, slackField{f.Name, escapeSlack(f.Value), true})
	}
	return slack{Text: escapeSlack(title(n)), Attachments: []slackAttachment{a}}
}

var slackEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func escapeSlack(s string) string { return slackEscaper.Replace(s) }

// matrix is the content of an event m.room.message. It has no formatted body, so that there is no
// HTML in it, and mentions no user.
type matrix struct {
	Type     string         `json:"msgtype"`
	Body     string         `json:"body"`
	Mentions map[string]any `json:"m.mentions"`
}

func matrixMessage(n *notify.Note, lost uint64) matrix {
	m := matrix{Type: "m.notice", Body: title(n) + "\n\n" + plain(n, lost), Mentions: map[string]any{}}
	if n.IsUrgent() && n.Event == notify.Begins {
		m.Type = "m.text" // of notices clients do not notify
	}
	return m
}

// matrixURL returns the URL of an event in the room. A note that is sent again has the same URL, and is one
// event.
func matrixURL(room string, n *notify.Note) string {
	return strings.TrimRight(room, "/") + "/send/m.room.message/" + url.PathEscape(fmt.Sprintf("%s-%s-%d", n.Thread, n.Event, n.Nanos))
}

// ntfy is a message to a server of ntfy. Without "markdown" its text is no markup.
type ntfy struct {
	Topic    string   `json:"topic"`
	Title    string   `json:"title"`
	Message  string   `json:"message"`
	Priority int      `json:"priority"`
	Tags     []string `json:"tags"`
}

func ntfyMessage(topic string, n *notify.Note, lost uint64) ntfy {
	m := ntfy{Topic: topic, Title: title(n), Message: plain(n, lost), Priority: 3, Tags: []string{"warning"}}
	switch {
	case n.Event == notify.Ends:
		m.Tags = []string{"white_check_mark"}
	case n.IsUrgent() && n.Event == notify.Begins:
		m.Priority, m.Tags = 5, []string{"rotating_light"}
	}
	return m
}

// splitTopic returns the URL of the server and the topic, which is the last part of its path.
func splitTopic(address string) (base, topic string) {
	u, err := url.Parse(address)
	if err != nil {
		return address, ""
	}
	path := strings.TrimRight(u.Path, "/")
	i := strings.LastIndexByte(path, '/')
	u.Path, topic = path[:i+1], path[i+1:]
	return u.String(), topic
}
