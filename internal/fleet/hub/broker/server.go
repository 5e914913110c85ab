// Package broker has the broker within qsniff-hub, a nats-server with JetStream in the same process;
// makes the credentials by which it recognises sensors; and connects to it, or to one elsewhere. It does
// not read what goes through it.
package broker

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"qsniff/internal/base/flock"
	"qsniff/internal/fleet"
	"qsniff/internal/monitor/notify"
)

// Options are how the broker runs.
type Options struct {
	// Listen is the address with a port at which sensors reach it; empty: none do, but for Config's.
	Listen string
	// Store is the folder of its streams. It belongs to one broker at a time.
	Store string
	// Config is a configuration file of nats-server, as OpenCredentials writes it; empty: none, and
	// every client that reaches it may do everything.
	Config string
	// Cert and Key are files, PEM: connections are encrypted with them. With CA those that connect
	// must bring a certificate of it.
	Cert, Key, CA string
	// Account is the account of the hub's credentials, which has the streams; empty: there are none.
	Account string
	// IsShared lets sensors have the account of the hub, as in configurations that were made before it had its own. Without
	// it, Start refuses such a one.
	IsShared bool
	// MaxStore is how many bytes its streams may have together; 0: as the server chooses.
	MaxStore int64
	Log      *slog.Logger
}

// Server is a broker at work.
type Server struct {
	nats   *server.Server
	lock   *os.File
	failed atomic.Pointer[string]
}

// Err returns why the broker stores no more, nil if it does: after an error of writing its streams take nothing until
// it is started again, also when the disk has room again.
func (s *Server) Err() error {
	if why := s.failed.Load(); why != nil {
		return fmt.Errorf("the broker stores no more: %s", *why)
	}
	if !s.nats.JetStreamEnabled() {
		return errors.New("the broker stores no more: JetStream is off")
	}
	return nil
}

// ErrOpen is the error of Start for a broker without credentials at an address that others reach.
var ErrOpen = errors.New("others than this machine can reach the broker, and it asks nobody for credentials")

// ErrInUse is the error of Start where another broker has the folder.
var ErrInUse = errors.New("another hub has this folder")

// ErrShared is the error of Start for a configuration in which sensors have the account of the hub.
var ErrShared = errors.New("sensors have the account of the hub: a stolen one can overwrite its state")

// Start starts the broker, and waits until it answers.
func Start(o Options) (*Server, error) {
	opts, err := o.options()
	if err != nil {
		return nil, err
	}
	lock, err := lockStore(o.Store)
	if err != nil {
		return nil, err
	}
	n, err := server.NewServer(opts)
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("the broker: %w", err)
	}
	if o.Account != "" && !exports(opts, o.Account) {
		if !o.IsShared {
			lock.Close()
			return nil, ErrShared
		}
		o.Log.Warn(ErrShared.Error())
	}
	if err := o.adoptStreams(); err != nil {
		lock.Close()
		return nil, fmt.Errorf("the broker: %w", err)
	}
	var fatal atomic.Pointer[string]
	s := &Server{nats: n, lock: lock}
	n.SetLoggerV2(logger{o.Log, &fatal, &s.failed}, false, false, false)
	n.Start()
	for end := time.Now().Add(startWait); !n.ReadyForConnections(startStep) || !n.JetStreamEnabled(); {
		why := fatal.Load()
		if why == nil && time.Now().Before(end) {
			continue
		}
		s.Close()
		if why == nil {
			return nil, errors.New("the broker did not start in time: its reasons are in the log")
		}
		return nil, fmt.Errorf("the broker: %s", *why)
	}
	return s, nil
}

// adoptStreams moves the streams of another account to that of the hub, if the hub's has none: before hubs
// had an account of their own, the streams were in the one of the sensors, and without credentials they are
// in one that is called $G.
func (o *Options) adoptStreams() error {
	if o.Config != "" && o.Account == "" {
		return nil // whose the streams are is up to that file
	}
	root := filepath.Join(o.Store, "jetstream")
	own := filepath.Join(root, cmp.Or(o.Account, globalAccount))
	if hasStreams(own) {
		return nil
	}
	accounts, err := os.ReadDir(root)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var old []string
	for _, a := range accounts {
		if path := filepath.Join(root, a.Name()); path != own && hasStreams(path) {
			old = append(old, path)
		}
	}
	if len(old) > 1 {
		o.Log.Warn("several accounts have streams, and the hub's has none: it begins without", "accounts", len(old), "folder", root)
	}
	if len(old) != 1 {
		return nil
	}
	if err := os.RemoveAll(own); err != nil { // it has no streams
		return err
	}
	o.Log.Info("the streams are now those of the hub's account", "before", filepath.Base(old[0]))
	return os.Rename(old[0], own)
}

// globalAccount is the account of a broker that asks for no credentials.
const globalAccount = "$G"

// hasStreams reports whether the folder of an account has streams.
func hasStreams(account string) bool {
	streams, err := os.ReadDir(filepath.Join(account, "streams"))
	return err == nil && len(streams) > 0
}

// exports reports whether an account has something that sensors reach from another account, or is not known. The accounts in a
// configuration file are known once a server was made of it.
func exports(opts *server.Options, account string) bool {
	if opts.AccountResolver == nil {
		return true
	}
	token, err := opts.AccountResolver.Fetch(account)
	if err != nil {
		return true
	}
	claims, err := jwt.DecodeAccountClaims(token)
	return err != nil || len(claims.Exports) > 0
}

// Check returns why Start would fail, as far as that can be seen without starting.
func Check(o Options) error {
	_, err := o.options()
	return err
}

// options returns those of the library.
func (o *Options) options() (*server.Options, error) {
	opts := &server.Options{}
	if o.Config != "" {
		var err error
		if opts, err = server.ProcessConfigFile(o.Config); err != nil {
			return nil, fmt.Errorf("%s: %w", o.Config, err)
		}
	}
	opts.NoSigs, opts.JetStream, opts.StoreDir = true, true, o.Store
	opts.SyncInterval, opts.JetStreamMaxMemory = syncEvery, mostMemory
	opts.ServerName = cmp.Or(opts.ServerName, "qsniff-hub")
	if o.MaxStore > 0 {
		opts.JetStreamMaxStore = o.MaxStore
	}
	switch {
	case o.Listen != "":
		host, port, err := net.SplitHostPort(o.Listen)
		number, bad := strconv.ParseUint(port, 10, 16)
		if err = cmp.Or(err, bad); err != nil {
			return nil, err
		}
		opts.Host, opts.Port = cmp.Or(host, "0.0.0.0"), int(number)
		if number == 0 {
			opts.Port = server.RANDOM_PORT
		}
	case o.Config == "" || opts.Port == 0:
		opts.DontListen = true
	}
	asksNobody := len(opts.TrustedOperators) == 0 && len(opts.Users) == 0 && len(opts.Nkeys) == 0 && opts.Username == "" && opts.Authorization == ""
	if ip := net.ParseIP(opts.Host); asksNobody && !opts.DontListen && opts.Host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, ErrOpen
	}
	if o.Cert == "" {
		return opts, nil
	}
	config, err := o.tlsConfig()
	opts.TLSConfig, opts.TLS, opts.TLSVerify = config, true, o.CA != ""
	opts.TLSTimeout = server.TLS_TIMEOUT.Seconds()
	return opts, err
}

func (o *Options) tlsConfig() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
	if err != nil {
		return nil, err
	}
	c := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if o.CA == "" {
		return c, nil
	}
	c.ClientAuth = tls.RequireAndVerifyClientCert
	c.ClientCAs, err = loadPool(o.CA)
	return c, err
}

// loadPool reads certificates of authorities.
func loadPool(name string) (*x509.CertPool, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: no certificate in it", name)
	}
	return pool, nil
}

// lockStore makes the folder of the streams, and takes it: two brokers in one would ruin it.
func lockStore(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "LOCK"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if !flock.TryLock(f) {
		f.Close()
		return nil, fmt.Errorf("%s: %w", dir, ErrInUse)
	}
	return f, nil
}

// Connect connects to the broker within the process. It needs no URL.
func (s *Server) Connect(d Dial) (*nats.Conn, error) {
	return d.connect(nats.InProcessServer(s.nats))
}

// Addr returns where sensors reach the broker; nil if they do not.
func (s *Server) Addr() net.Addr { return s.nats.Addr() }

// URL returns the address for clients.
func (s *Server) URL() string { return s.nats.ClientURL() }

// Close ends the broker: what it has is on the disk then.
func (s *Server) Close() {
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
	s.lock.Close()
}

// logger brings the broker's log to that of the program. Its messages about its start are for those who
// search for an error.
type logger struct {
	log    *slog.Logger
	fatal  *atomic.Pointer[string] // why it did not start
	failed *atomic.Pointer[string] // why it stores no more
}

// final are words of errors after which a stream, or all of them, take nothing more until the broker is started
// again: filestore.go and jetstream.go of nats-server 2.15.2.
var final = []string{"Critical write error", "will be DISABLED"}

func (l logger) Noticef(format string, v ...any) {
	l.log.Debug("broker", "what", fmt.Sprintf(format, v...))
}
func (l logger) Warnf(format string, v ...any) {
	l.log.Warn("broker", "what", fmt.Sprintf(format, v...))
}
func (l logger) Errorf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	l.log.Error("broker", "what", text)
	if slices.ContainsFunc(final, func(words string) bool { return strings.Contains(text, words) }) {
		l.failed.CompareAndSwap(nil, &text)
	}
}

// Fatalf notes why the broker does not start: it stays as it is then, and does nothing.
func (l logger) Fatalf(format string, v ...any) {
	why := fmt.Sprintf(format, v...)
	l.fatal.Store(&why)
}

func (l logger) Debugf(string, ...any) {}
func (l logger) Tracef(string, ...any) {}

// Dial is how a hub connects to a broker.
type Dial struct {
	// URL is the address of a broker, or several with commas between: nats://HOST:PORT or tls://...
	URL string
	// Creds are the credentials, the content of a file: it is not needed any more once the sandbox
	// is entered. nil: none.
	Creds []byte
	// CA is a file with the authorities that the broker's certificate is checked by; empty: those of
	// the system.
	CA string
	// Changed is called from other goroutines when the connection is lost (with why) and when it is
	// there again (nil).
	Changed func(err error)
}

// LoadCreds reads a file of credentials, which others must not be able to read.
func LoadCreds(name string) ([]byte, error) {
	text, err := notify.ReadSecret(name, "whoever has the credentials can read and change what sensors tell", longestCreds)
	if err == nil {
		if _, err = parseCreds([]byte(text)); err != nil {
			err = errors.New("it is no file of credentials of NATS")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return []byte(text), nil
}

// Connect connects to a broker elsewhere. It goes on trying for ever once it was there.
func (d Dial) Connect() (*nats.Conn, error) {
	if d.CA != "" {
		pool, err := loadPool(d.CA)
		if err != nil {
			return nil, err
		}
		return d.connect(nats.Secure(&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}))
	}
	return d.connect()
}

func (d Dial) connect(more ...nats.Option) (*nats.Conn, error) {
	changed := func(err error) {
		if d.Changed != nil {
			d.Changed(err)
		}
	}
	opts := []nats.Option{nats.Name("qsniff-hub"), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectEvery), nats.PingInterval(pingEvery),
		nats.MaxPingsOutstanding(pingsMissed), nats.CustomInboxPrefix(fleet.InboxPrefix(fleet.HubName)), nats.DrainTimeout(drainWait),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil { // else it was closed here
				changed(err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { changed(nil) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { changed(err) }),
	}
	if d.Creds != nil {
		opts = append(opts, nats.UserCredentialBytes(d.Creds))
	}
	c, err := nats.Connect(d.URL, append(opts, more...)...)
	if err != nil {
		return nil, fmt.Errorf("the broker at %s: %w", Redacted(d.URL), err)
	}
	return c, nil
}

// Redacted returns a URL of a broker without the password or the token that may be in it.
func Redacted(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return "the given address"
	}
	return u.Scheme + "://" + u.Host
}

// PortOf returns the port of the URL of a broker, 0 if it has none that can be.
func PortOf(text string) uint16 {
	u, err := url.Parse(text)
	if err != nil {
		return 0
	}
	if u.Port() == "" {
		return 4222
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil {
		return 0
	}
	return uint16(n)
}

const (
	// limit: startWait is how long the broker may take until it answers. Chosen: it reads the index of its
	// streams, and after a crash the streams themselves, about 500 MB/s.
	startWait = 2 * time.Minute

	// limit: startStep is how often it is looked whether it answers or has stopped.
	startStep = 100 * time.Millisecond

	// limit: syncEvery is how often the broker has what it took brought to the disk. The machine may lose as
	// much when its power fails, which the numbers of messages show; the process alone loses nothing.
	// Chosen: the default of two minutes is more than a hub should lose, and each message by itself
	// takes a fifth of the rate.
	syncEvery = time.Second

	// limit: mostMemory is how much memory streams may take that are kept in none but it: the hub makes none.
	mostMemory = 64 << 20

	// limit: drainWait is how long the end waits for what the hub has still to send.
	drainWait = 2 * time.Second

	// limit: longestCreds is the greatest size of a file of credentials. Chosen: that of a token with a hundred permissions.
	longestCreds = 64 << 10

	// limit: pingEvery is how often a connection is tried, and pingsMissed how many of these tries may fail.
	// Chosen: a broker that is gone without a word is noticed within half a minute.
	pingEvery   = 10 * time.Second
	pingsMissed = 2

	// limit: reconnectEvery is how often a lost connection is tried again.
	reconnectEvery = time.Second
)
