package broker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"qsniff/internal/fleet"
)

// The files of credentials in their folder, besides one NAME.creds for each sensor.
const (
	operatorFile = "operator.seed" // signs accounts
	accountFile  = "account.seed"  // signs sensors
	systemFile   = "system.seed"   // of the account that the broker has for itself: nobody uses it
	accountJWT   = "account.jwt"   // what the broker is given of the account: who was revoked
	hubFile      = fleet.HubName + ".creds"
	configFile   = "nats.conf" // of the broker: it has no secrets
)

// Credentials are those of a fleet, in a folder.
type Credentials struct {
	dir, prefix               string
	operator, account, system nkeys.KeyPair
	claims                    *jwt.AccountClaims // of account
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
	if err := c.loadAccount(); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, hubFile)); errors.Is(err, os.ErrNotExist) {
		if err := c.addUser(fleet.HubName, hubFile, jwt.Permissions{}); err != nil {
			return nil, err
		}
	}
	return c, c.writeConfig()
}

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
	return filepath.Join(c.dir, file), c.addUser(name, file, p)
}

// Revoke makes the credentials of a sensor worthless, once the broker has read its configuration again.
func (c *Credentials) Revoke(name string) error {
	file := filepath.Join(c.dir, name+".creds")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	key, err := parseCreds(text)
	if err != nil {
		return err
	}
	c.claims.Revoke(key)
	if err := c.writeAccount(); err != nil {
		return err
	}
	if err := c.writeConfig(); err != nil {
		return err
	}
	return os.Rename(file, file+".revoked")
}

// parseCreds returns the public key of the user of a file of credentials.
func parseCreds(text []byte) (string, error) {
	token, err := jwt.ParseDecoratedJWT(text)
	if err != nil {
		return "", err
	}
	claims, err := jwt.DecodeUserClaims(token)
	if err != nil {
		return "", err
	}
	return claims.Subject, nil
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

// addUser makes a file of credentials.
func (c *Credentials) addUser(name, file string, p jwt.Permissions) error {
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
	token, err := claims.Encode(c.account)
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

// loadAccount reads the account, or makes it.
func (c *Credentials) loadAccount() error {
	public, err := c.account.PublicKey()
	if err != nil {
		return err
	}
	token, err := os.ReadFile(filepath.Join(c.dir, accountJWT))
	if err == nil {
		c.claims, err = jwt.DecodeAccountClaims(string(token))
		if err == nil && c.claims.Subject != public {
			err = errors.New("it is of another account")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", accountJWT, err)
		}
		return nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	c.claims = jwt.NewAccountClaims(public)
	c.claims.Name = "qsniff"
	c.claims.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit}
	return c.writeAccount()
}

func (c *Credentials) writeAccount() error {
	token, err := c.claims.Encode(c.operator)
	if err != nil {
		return err
	}
	return writeOver(filepath.Join(c.dir, accountJWT), []byte(token))
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
	text := fmt.Sprintf("# Who may do what at the broker of a fleet, written by qsniff-hub creds. It has no secrets.\n"+
		"operator: %s\nsystem_account: %s\nresolver: MEMORY\nresolver_preload: {\n  %s: %s\n  %s: %s\n}\n",
		operator, public, public, system, c.claims.Subject, account)
	return writeOver(c.ConfigFile(), []byte(text))
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

// writeOver replaces a file as a whole.
func writeOver(path string, text []byte) error {
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
