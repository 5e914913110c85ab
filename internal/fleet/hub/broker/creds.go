package broker

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"qsniff/internal/base/sandbox"
	"qsniff/internal/fleet"
)

// The files of credentials in their folder, besides one NAME.creds for each sensor.
const (
	operatorFile = "operator.seed" // signs accounts
	accountFile  = "account.seed"  // signs sensors
	ownFile      = "hub.seed"      // signs hubs
	systemFile   = "system.seed"   // of the account that the broker has for itself, without users
	accountJWT   = "account.jwt"   // what the broker is given of the sensors' account: who was revoked
	hubFile      = fleet.HubName + ".creds"
	configFile   = "nats.conf" // of the broker: it has no secrets
)

// Credentials are those of a fleet, in a folder.
//
// Hubs, with the streams and the bucket, are in one account, sensors in another. A stolen sensor can name any
// subject as the one that an ack is sent to; in the account of the streams that would write what hubs
// keep there. From their own account sensors reach one thing in the hubs': PREFIX.*.>, imported as a
// service, so that acks come back to the sensors' account and nowhere else.
type Credentials struct {
	dir, prefix                    string
	operator, account, own, system nkeys.KeyPair
	claims                         *jwt.AccountClaims // of account
	isMoved                        bool
}

// OpenCredentials opens the folder, and makes in it what is missing: the keys, the hub's credentials,
// and the broker's configuration. prefix begins the subjects of the fleet.
func OpenCredentials(dir, prefix string) (*Credentials, error) {
	c := &Credentials{dir: dir, prefix: prefix}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	var err error
	if c.operator, err = c.key(operatorFile, nkeys.CreateOperator); err != nil {
		return nil, err
	}
	if c.account, err = c.key(accountFile, nkeys.CreateAccount); err != nil {
		return nil, err
	}
	if c.system, err = c.key(systemFile, nkeys.CreateAccount); err != nil {
		return nil, err
	}
	if err := c.separateHubs(); err != nil {
		return nil, err
	}
	if c.own, err = c.key(ownFile, nkeys.CreateAccount); err != nil {
		return nil, err
	}
	if err := c.loadAccount(); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, hubFile)); errors.Is(err, os.ErrNotExist) {
		if err := c.addUser(fleet.HubName, hubFile, jwt.Permissions{}, c.own); err != nil {
			return nil, err
		}
	}
	return c, c.writeConfig()
}

// separateHubs puts the hub's credentials aside if they are of the account of the sensors, as a folder of
// before has them. The files of sensors stay as they are.
func (c *Credentials) separateHubs() error {
	if _, err := os.Stat(filepath.Join(c.dir, ownFile)); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	err := os.Rename(c.HubFile(), c.HubFile()+".old")
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	c.isMoved = err == nil
	return err
}

// IsMoved reports whether hubs got an account of their own when the folder was opened: they have to be started
// again, with the new credentials and the new configuration.
func (c *Credentials) IsMoved() bool { return c.isMoved }

// HubFile and ConfigFile return the paths that qsniff-hub run takes.
func (c *Credentials) HubFile() string    { return filepath.Join(c.dir, hubFile) }
func (c *Credentials) ConfigFile() string { return filepath.Join(c.dir, configFile) }

// AddSensor makes the credentials of a sensor, and returns their file. They give the right to publish
// as that sensor, and to get the acks for that: not to speak as another, and not to read what any
// sensor published.
func (c *Credentials) AddSensor(name string) (string, error) {
	if err := fleet.CheckName(name); err != nil {
		return "", err
	}
	if name[0] == '_' {
		return "", fmt.Errorf("%q: that is a name of hubs", name)
	}
	var p jwt.Permissions
	p.Pub.Allow.Add(c.prefix + "." + name + ".>")
	p.Sub.Allow.Add(fleet.InboxPrefix(name) + ".>")
	file := name + ".creds"
	return filepath.Join(c.dir, file), c.addUser(name, file, p, c.account)
}

// Revoke makes the credentials of a sensor worthless, once the broker has read its configuration again.
func (c *Credentials) Revoke(name string) error {
	file := filepath.Join(c.dir, name+".creds")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	user, err := parseCreds(text)
	if err != nil {
		return err
	}
	c.claims.Revoke(user.Subject)
	if err := c.writeAccount(); err != nil {
		return err
	}
	if err := c.writeConfig(); err != nil {
		return err
	}
	return os.Rename(file, file+".revoked")
}

// parseCreds returns the user of a file of credentials.
func parseCreds(text []byte) (*jwt.UserClaims, error) {
	token, err := jwt.ParseDecoratedJWT(text)
	if err != nil {
		return nil, err
	}
	return jwt.DecodeUserClaims(token)
}

// AccountOf returns the account of credentials, the content of a file; empty if it names none.
func AccountOf(creds []byte) string {
	user, err := parseCreds(creds)
	if err != nil {
		return ""
	}
	return cmp.Or(user.IssuerAccount, user.Issuer)
}

// key reads the seed of a key, or makes both.
func (c *Credentials) key(file string, make func() (nkeys.KeyPair, error)) (nkeys.KeyPair, error) {
	path := filepath.Join(c.dir, file)
	seed, err := os.ReadFile(path)
	if err == nil {
		k, err := nkeys.FromSeed(seed)
		if err != nil {
			return nil, fmt.Errorf("%s: it is no seed", path)
		}
		return k, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	k, err := make()
	if err != nil {
		return nil, err
	}
	if seed, err = k.Seed(); err != nil {
		return nil, err
	}
	return k, writeNew(path, seed)
}

// addUser makes a file of credentials, signed by an account.
func (c *Credentials) addUser(name, file string, p jwt.Permissions, account nkeys.KeyPair) error {
	user, err := nkeys.CreateUser()
	if err != nil {
		return err
	}
	public, err := user.PublicKey()
	if err != nil {
		return err
	}
	claims := jwt.NewUserClaims(public)
	claims.Name, claims.Permissions = name, p
	token, err := claims.Encode(account)
	if err != nil {
		return err
	}
	seed, err := user.Seed()
	if err != nil {
		return err
	}
	text, err := jwt.FormatUserConfig(token, seed)
	if err != nil {
		return err
	}
	return writeNew(filepath.Join(c.dir, file), text)
}

// loadAccount reads the account of the sensors, or makes it, and gives it the one way to the hubs'.
func (c *Credentials) loadAccount() error {
	public, err := c.account.PublicKey()
	if err != nil {
		return err
	}
	token, err := os.ReadFile(filepath.Join(c.dir, accountJWT))
	switch {
	case err == nil:
		c.claims, err = jwt.DecodeAccountClaims(string(token))
		if err == nil && c.claims.Subject != public {
			err = errors.New("it is of another account")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", accountJWT, err)
		}
	case errors.Is(err, os.ErrNotExist):
		c.claims = jwt.NewAccountClaims(public)
	default:
		return err
	}
	hubs, err := c.own.PublicKey()
	if err != nil {
		return err
	}
	c.claims.Name = "qsniff-sensors"
	c.claims.Limits.JetStreamLimits = jwt.JetStreamLimits{}
	c.claims.Imports = jwt.Imports{{Name: "to the hubs", Account: hubs, Subject: jwt.Subject(c.subjects()), Type: jwt.Service}}
	return c.writeAccount()
}

// hubClaims returns the claims of the account of hubs, with the streams.
func (c *Credentials) hubClaims() (*jwt.AccountClaims, error) {
	public, err := c.own.PublicKey()
	if err != nil {
		return nil, err
	}
	claims := jwt.NewAccountClaims(public)
	claims.Name = "qsniff-hubs"
	claims.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit}
	claims.Exports = jwt.Exports{{Name: "from sensors", Subject: jwt.Subject(c.subjects()), Type: jwt.Service, ResponseType: jwt.ResponseTypeSingleton}}
	return claims, nil
}

// subjects returns the subjects of all sensors.
func (c *Credentials) subjects() string { return c.prefix + ".*.>" }

func (c *Credentials) writeAccount() error {
	token, err := c.claims.Encode(c.operator)
	if err != nil {
		return err
	}
	return sandbox.ReplaceFile(filepath.Join(c.dir, accountJWT), []byte(token))
}

// writeConfig writes the broker's configuration.
func (c *Credentials) writeConfig() error {
	public, err := c.operator.PublicKey()
	if err != nil {
		return err
	}
	claims := jwt.NewOperatorClaims(public)
	claims.Name = "qsniff"
	operator, err := claims.Encode(c.operator)
	if err != nil {
		return err
	}
	if public, err = c.system.PublicKey(); err != nil {
		return err
	}
	own := jwt.NewAccountClaims(public)
	own.Name = "system"
	system, err := own.Encode(c.operator)
	if err != nil {
		return err
	}
	account, err := c.claims.Encode(c.operator)
	if err != nil {
		return err
	}
	hubs, err := c.hubClaims()
	if err != nil {
		return err
	}
	hub, err := hubs.Encode(c.operator)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("# Who may do what at the broker of a fleet, written by qsniff-hub creds. It has no secrets.\n"+
		"operator: %s\nsystem_account: %s\nresolver: MEMORY\nresolver_preload: {\n  %s: %s\n  %s: %s\n  %s: %s\n}\n",
		operator, public, public, system, c.claims.Subject, account, hubs.Subject, hub)
	return sandbox.ReplaceFile(c.ConfigFile(), []byte(text))
}

// ErrThere is the error for credentials that were made before.
var ErrThere = errors.New("it is there")

// writeNew writes a secret. It returns ErrThere if the file is there.
func writeNew(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return ErrThere
	}
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
