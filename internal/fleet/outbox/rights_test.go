package outbox

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"qsniff/internal/test/natstest"
)

// fleetAccount is an account at a broker with an operator, as nsc makes them.
type fleetAccount struct {
	dir  string
	pair nkeys.KeyPair
}

// newPair returns a pair of keys and the public one.
func newPair(t *testing.T, pair nkeys.KeyPair, err error) (nkeys.KeyPair, string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return pair, public
}

// add adds an account to the options of a broker, with JetStream if it has room.
func (a *fleetAccount) add(t *testing.T, o *server.Options, operator nkeys.KeyPair, room int64) string {
	t.Helper()
	pair, err := nkeys.CreateAccount()
	pair, public := newPair(t, pair, err)
	claims := jwt.NewAccountClaims(public)
	claims.Limits.JetStreamLimits = jwt.JetStreamLimits{DiskStorage: room, MemoryStorage: room, Streams: room, Consumer: room}
	text, err := claims.Encode(operator)
	if err != nil {
		t.Fatal(err)
	}
	if o.AccountResolver == nil {
		o.AccountResolver = new(server.MemAccResolver)
	}
	if err := o.AccountResolver.Store(public, text); err != nil {
		t.Fatal(err)
	}
	a.pair = pair
	return public
}

// operate makes a broker one with an operator, an account for its own use and one for a fleet.
func (a *fleetAccount) operate(t *testing.T, o *server.Options) {
	t.Helper()
	pair, err := nkeys.CreateOperator()
	operator, public := newPair(t, pair, err)
	text, err := jwt.NewOperatorClaims(public).Encode(operator)
	if err != nil {
		t.Fatal(err)
	}
	claims, err := jwt.DecodeOperatorClaims(text)
	if err != nil {
		t.Fatal(err)
	}
	o.TrustedOperators = []*jwt.OperatorClaims{claims}
	o.SystemAccount = a.add(t, o, operator, 0)
	a.add(t, o, operator, -1)
}

// creds writes a file of credentials of a user who may publish to a subject only, and hear what is below
// another; no subjects are all rights.
func (a *fleetAccount) creds(t *testing.T, name, publish, inbox string) string {
	t.Helper()
	made, err := nkeys.CreateUser()
	pair, public := newPair(t, made, err)
	claims := jwt.NewUserClaims(public)
	if publish != "" {
		claims.Pub.Allow.Add(publish)
		claims.Sub.Allow.Add(inbox)
	}
	token, err := claims.Encode(a.pair)
	if err != nil {
		t.Fatal(err)
	}
	seed, err := pair.Seed()
	if err != nil {
		t.Fatal(err)
	}
	text, err := jwt.FormatUserConfig(token, seed)
	if err != nil {
		t.Fatal(err)
	}
	return a.write(t, name, string(text))
}

func (a *fleetAccount) write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(a.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// makeCertificate makes a certificate for 127.0.0.1 that signs itself, and writes it to a file.
func (a *fleetAccount) makeCertificate(t *testing.T, name string) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{{127, 0, 0, 1}}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, a.write(t, name, string(text))
}

// TestCredentials: a broker with TLS and credentials takes the messages of a sensor with the rights that
// the documentation names. The credentials of another sensor cannot publish them; what is wrong is said
// in words, and when a file is replaced by a right one the messages go, without a restart.
func TestCredentials(t *testing.T) {
	t.Parallel()
	a := &fleetAccount{dir: t.TempDir()}
	cert, ca := a.makeCertificate(t, "ca.pem")
	_, otherCA := a.makeCertificate(t, "other.pem")
	b := natstest.Start(t, func(o *server.Options) {
		a.operate(t, o)
		o.TLS, o.TLSConfig = true, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	})
	admin := func() jetstream.JetStream {
		return b.Connect(nats.UserCredentials(a.creds(t, "admin", "", "")), nats.Secure(&tls.Config{InsecureSkipVerify: true}))
	}
	makeStream(t, admin())
	mine, theirs := a.creds(t, "mine", "qsniff.web-1.>", "_INBOX.web-1.>"), a.creds(t, "theirs", "qsniff.web-2.>", "_INBOX.web-2.>")
	url := strings.Replace(b.URL(), "nats://", "tls://", 1)
	creds := a.write(t, "creds", "")
	put := func(from, to string) {
		t.Helper()
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		a.write(t, "new", string(text))
		if err := os.Rename(filepath.Join(a.dir, "new"), to); err != nil {
			t.Fatal(err)
		}
	}
	put(theirs, creds)
	used := filepath.Join(a.dir, "used.pem")
	put(otherCA, used)
	o := run(t, Options{URLs: url, Creds: creds, CA: used})
	o.put("a", 1, 50)
	o.awaitLog("nobody that is trusted has signed the certificate of the broker: --fleet-ca FILE")
	put(ca, used)
	o.awaitLog("permission denied: the credentials must allow to publish to qsniff.web-1.> and to subscribe to _INBOX.web-1.>")
	if got := numbers(t, admin()); len(got) != 0 {
		t.Errorf("with the credentials of another: %v", got)
	}
	a.write(t, "creds", "nonsense")
	o.awaitLog("--fleet-creds " + creds + ": neither credentials of a user, as nsc and nk make them")
	put(mine, creds)
	o.awaitSent(50)
	o.awaitLog("works again")
	if c := o.finish(); c.Sent != 50 || c.Waiting+int(c.Dropped) != 0 {
		t.Errorf("%+v", c)
	}
	checkStream(t, numbers(t, admin()), "a 1 50")
	o = run(t, Options{URLs: url, CA: ca})
	o.put("a", 51, 51)
	o.awaitLog("the broker wants credentials: --fleet-creds FILE has them")
	for _, line := range o.log {
		if strings.Contains(line, "SU") {
			t.Errorf("a seed: %s", line)
		}
	}
}

// TestNKey: a sensor may be let in by the seed of an NKey; a broker that does not encrypt is none where
// that is wanted.
func TestNKey(t *testing.T) {
	a := &fleetAccount{dir: t.TempDir()}
	made, err := nkeys.CreateUser()
	pair, public := newPair(t, made, err)
	seed, err := pair.Seed()
	if err != nil {
		t.Fatal(err)
	}
	b := natstest.Start(t, func(o *server.Options) {
		o.Nkeys = []*server.NkeyUser{{Nkey: public, Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Allow: []string{"qsniff.web-1.>"}}, Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.web-1.>"}}}}}
		o.Users = []*server.User{{Username: "admin", Password: "admin"}}
	})
	admin := b.Connect(nats.UserInfo("admin", "admin"))
	makeStream(t, admin)
	file := a.write(t, "seed", string(seed)+"\n")
	o := run(t, Options{URLs: b.URL(), Creds: file})
	o.put("a", 1, 20)
	o.awaitSent(20)
	o.finish()
	checkStream(t, numbers(t, admin), "a 1 20")
	_, ca := a.makeCertificate(t, "ca.pem")
	o = run(t, Options{URLs: b.URL(), Creds: file, CA: ca})
	o.awaitLog("the broker does not encrypt, which tls:// and --fleet-ca ask for")
}

// recorder makes connections and keeps what is written to them.
type recorder struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (r *recorder) Dial(network, address string) (net.Conn, error) {
	c, err := net.Dial(network, address)
	return &recordedConn{c, r}, err
}

type recordedConn struct {
	net.Conn
	r *recorder
}

func (c *recordedConn) Write(b []byte) (int, error) {
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	c.r.all.Write(b)
	return c.Conn.Write(b)
}

// TestSeedIsNotSent: without encryption the wire shows a signature of the broker's challenge, another one for each
// connection, and never the seed.
func TestSeedIsNotSent(t *testing.T) {
	a := &fleetAccount{dir: t.TempDir()}
	made, err := nkeys.CreateUser()
	pair, public := newPair(t, made, err)
	seed, err := pair.Seed()
	if err != nil {
		t.Fatal(err)
	}
	b := natstest.Start(t, func(o *server.Options) {
		o.Nkeys = []*server.NkeyUser{{Nkey: public}}
		o.Users = []*server.User{{Username: "admin", Password: "admin"}}
	})
	makeStream(t, b.Connect(nats.UserInfo("admin", "admin")))
	file := a.write(t, "seed", string(seed)+"\n")
	signed := map[string]bool{}
	for range 2 {
		r := &recorder{}
		o := run(t, Options{URLs: b.URL(), Creds: file, Dialer: r})
		o.put("a", 1, 1)
		o.awaitSent(1)
		o.finish()
		text := r.all.String()
		found := regexp.MustCompile(`"sig":"([^"]+)"`).FindStringSubmatch(text)
		if strings.Contains(text, string(seed)) || found == nil || signed[found[1]] {
			t.Errorf("what was sent has the seed, no signature or that of before: %v", found)
			continue
		}
		signed[found[1]] = true
	}
}

// TestOptionsAreWrong: what cannot be is refused at the start, in words.
func TestOptionsAreWrong(t *testing.T) {
	dir := t.TempDir()
	for want, o := range map[string]Options{
		"no address of a broker":           {URLs: "http://x"},
		"the port \"99999\" cannot be":     {URLs: "nats://x:99999"},
		"a password in an address is seen": {URLs: "nats://user:SECRET@x"},
		"more than 16 brokers":             {URLs: strings.Repeat("nats://x,", 20)},
		"no such file":                     {URLs: "nats://x", Creds: filepath.Join(dir, "none")},
		"no certificates in PEM":           {URLs: "nats://x", CA: "rights_test.go"},
		"a spool of 1.00 KiB: from":        {URLs: "nats://x", Spool: dir, Size: 1024},
		"the spool " + dir + "/a/b: no":    {URLs: "nats://x", Spool: dir + "/a/b", Size: LeastSpool},
	} {
		if err := Check(o); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
