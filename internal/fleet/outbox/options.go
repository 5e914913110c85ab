package outbox

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"

	"qsniff/internal/fleet"
)

// Options are where messages go, and where they wait.
type Options struct {
	URLs   string // one or more of a cluster, with commas between them: nats:// or tls://
	Sensor string // its name
	Prefix string // of subjects
	Creds  string // a file of credentials, or with the seed of an NKey; empty: none
	CA     string // a file with the authorities that certificates are checked by; empty: the system's
	Spool  string // a folder; empty: messages wait in memory only
	Size   int64  // of the spool, in bytes
	// Dialer makes connections; nil: over the network.
	Dialer nats.CustomDialer
	// Log gets a line about what goes wrong, and when it is over.
	Log func(string)
}

// Broker is an address of a broker.
type Broker struct {
	Host  string
	Port  uint16
	IsTLS bool
}

// usualPort is that of NATS.
const usualPort = "4222"

// mostBrokers is how many addresses may be named. Chosen: a cluster has three or five.
const mostBrokers = 16

// ParseURLs parses Options.URLs. Errors have no passwords.
func ParseURLs(text string) (all []Broker, err error) {
	words := strings.Split(text, ",")
	if len(words) > mostBrokers {
		return nil, fmt.Errorf("more than %d brokers", mostBrokers)
	}
	for _, word := range words {
		u, err := url.Parse(strings.TrimSpace(word))
		switch {
		case err != nil || u.Scheme != "nats" && u.Scheme != "tls" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "":
			return nil, errors.New("no address of a broker: nats://HOST or tls://HOST:PORT")
		case u.User != nil:
			return nil, errors.New("a password in an address is seen by all who list processes: put credentials into a file")
		}
		port, err := strconv.ParseUint(cmp.Or(u.Port(), usualPort), 10, 16)
		if err != nil || port == 0 {
			return nil, fmt.Errorf("the port %.10q cannot be", u.Port())
		}
		all = append(all, Broker{u.Hostname(), uint16(port), u.Scheme == "tls"})
	}
	return all, nil
}

// CheckPrefix returns an error if subjects cannot begin with a prefix.
func CheckPrefix(prefix string) error {
	for word := range strings.SplitSeq(prefix, ".") {
		if fleet.CheckName(word) != nil {
			return fmt.Errorf("%.100q: a prefix of subjects is words of letters, digits, - and _, with dots between them", prefix)
		}
	}
	return nil
}

// Check returns an error if an Outbox cannot be opened. It opens no connection, and does not touch a
// spool that another process uses.
func Check(opt Options) error {
	o, err := open(opt)
	if err == nil && opt.Spool != "" {
		if err = checkDisk(opt.Spool); err != nil {
			err = fmt.Errorf("the spool %s: %w", opt.Spool, withoutPath(err))
		}
	}
	_ = o
	return err
}
