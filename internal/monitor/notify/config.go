package notify

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"qsniff/internal/base/digits"
)

// Config is where Notes go.
type Config struct {
	File      string `json:"file,omitempty"` // of JSON lines; empty: none
	FileSize  int64  `json:"file_size,omitempty"`
	FileCount int    `json:"file_count,omitempty"` // old ones that stay

	HooksFile string        `json:"hooks_file,omitempty"` // see LoadHooks
	Hooks     []Hook        `json:"hooks,omitempty"`
	Every     time.Duration `json:"every"` // hooks get at most one change of a thread in this time

	Exec        string        `json:"exec,omitempty"` // a program; empty: none
	ExecTimeout time.Duration `json:"exec_timeout,omitempty"`

	Syslog  string `json:"syslog,omitempty"`  // the socket; empty: none
	Journal string `json:"journal,omitempty"` // the socket; empty: none

	Fleet *Fleet `json:"fleet,omitempty"` // nil: none

	Reports   bool `json:"reports,omitempty"` // make reports of captures
	NoSandbox bool `json:"no_sandbox,omitempty"`
}

// IsEmpty reports whether there is no sink, no fleet and no report to make.
func (c *Config) IsEmpty() bool {
	return c.File == "" && c.HooksFile == "" && len(c.Hooks) == 0 && c.Exec == "" && c.Syslog == "" && c.Journal == "" && c.Fleet == nil && !c.Reports
}

// StartsPrograms reports whether the other process has to be able to start programs.
func (c *Config) StartsPrograms() bool { return c.Exec != "" || c.Reports }

// Hook is a service that gets Notes over HTTP. Its URL and its token are secrets.
type Hook struct {
	Service string `json:"service"`
	URL     string `json:"url"`
	Token   string `json:"token,omitempty"` // sent as Authorization: Bearer; empty: none
}

// Services are the kinds of Hook.
var Services = []string{"discord", "json", "matrix", "ntfy", "slack"}

// Host returns the only part of the URL that may be shown.
func (h *Hook) Host() string {
	u, err := url.Parse(h.URL)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// Port returns the TCP port of the URL, 0 if it has none that can be.
func (h *Hook) Port() uint16 {
	u, err := url.Parse(h.URL)
	if err != nil {
		return 0
	}
	usual := "443"
	if u.Scheme == "http" {
		usual = "80"
	}
	port, err := strconv.ParseUint(cmp.Or(u.Port(), usual), 10, 16)
	if err != nil {
		return 0
	}
	return uint16(port)
}

// check returns an error, without the URL, if the hook cannot be used.
func (h *Hook) check() error {
	u, err := url.Parse(h.URL)
	switch {
	case !slices.Contains(Services, h.Service):
		return fmt.Errorf("%q is no service: one of %s", h.Service, strings.Join(Services, ", "))
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || h.Port() == 0:
		return errors.New("the second word is no address: https://HOST/PATH")
	case h.Service == "matrix" && (h.Token == "" || !strings.Contains(u.Path, "/rooms/")):
		return errors.New("matrix takes https://HOST/_matrix/client/v3/rooms/ROOM and a token")
	case h.Service == "ntfy" && strings.Trim(u.Path, "/") == "":
		return errors.New("ntfy takes https://HOST/TOPIC")
	}
	return nil
}

// LoadHooks reads a file as ParseHooks takes it. As there are secrets in it, others must not be able
// to read it.
func LoadHooks(name string) ([]Hook, error) {
	text, err := ReadSecret(name, "addresses of webhooks are secrets", longestHooks)
	var hooks []Hook
	if err == nil {
		hooks, err = ParseHooks(text)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return hooks, nil
}

// ReadSecret reads a file of at most longest bytes, which not everybody may read: why is the reason, for the
// error. The errors do not have its name.
func ReadSecret(name, why string, longest int64) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", errors.Unwrap(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if info.Mode().IsRegular() && info.Mode()&0o007 != 0 {
		return "", fmt.Errorf("everybody may read it, and %s: chmod o= FILE", why)
	}
	b, err := io.ReadAll(io.LimitReader(f, longest+1))
	if err == nil && int64(len(b)) > longest {
		err = fmt.Errorf("more than %s", digits.Bytes(float64(longest)))
	}
	return string(b), err
}

// ParseHooks parses lines of a service, its URL and, if it takes one, a token; # begins a comment.
// Errors name the line and none of its secrets.
func ParseHooks(text string) (hooks []Hook, err error) {
	for i, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) < 2 || len(words) > 3 {
			return nil, fmt.Errorf("line %d: it has %d words; a service, its URL, and maybe a token are a line", i+1, len(words))
		}
		h := Hook{Service: words[0], URL: words[1]}
		if len(words) == 3 {
			h.Token = words[2]
		}
		if err := h.check(); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		if len(hooks) == maxHooks {
			return nil, fmt.Errorf("line %d: more than %d services", i+1, maxHooks)
		}
		hooks = append(hooks, h)
	}
	return hooks, nil
}

const (
	// limit: maxHooks is how many services may get notes. Chosen: each has a queue and a worker.
	maxHooks = 16

	// limit: longestHooks is the greatest size of their file, in bytes. Chosen: that of 16 services, and
	// comments.
	longestHooks = 64 << 10
)
