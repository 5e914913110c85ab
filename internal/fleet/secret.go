package fleet

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"qsniff/internal/flood/measure"
)

// Secret is the secret that all sensors and hubs of a fleet share. It is not safe for concurrent use.
type Secret struct {
	hosts, networks cipher.Block
	seed            uint64
	key             measure.Key
}

// leastSecret is the length of the shortest secret. Chosen: 16 random bytes as base64 have 22.
const leastSecret = 16

// NewSecret makes a secret of the text of a file, at least 16 bytes without the space around it.
func NewSecret(text []byte) (*Secret, error) {
	if len(text) < leastSecret {
		return nil, fmt.Errorf("the secret has %d bytes, and needs %d: head -c 24 /dev/urandom | base64", len(text), leastSecret)
	}
	keys, err := hkdf.Key(sha256.New, text, nil, "qsniff fleet 1", 48)
	if err != nil {
		return nil, err
	}
	s := &Secret{seed: binary.LittleEndian.Uint64(keys[32:]) | 1, key: measure.Key(binary.LittleEndian.Uint64(keys[40:]) | 1)}
	if s.hosts, err = aes.NewCipher(keys[:16]); err != nil {
		return nil, err
	}
	s.networks, err = aes.NewCipher(keys[16:32])
	return s, err
}

// Seed returns the seed of the hashes of sightings: sketches of all sensors then count the same host
// once.
func (s *Secret) Seed() uint64 { return s.seed }

// Key returns the key of the hashes of networks, which is the same for all sensors, too.
func (s *Secret) Key() measure.Key { return s.key }

// Sealed is the address of a host, or a network, encrypted: one block of AES, equal for equal
// addresses. The zero Sealed is none.
type Sealed [16]byte

// SealHost encrypts an address.
func (s *Secret) SealHost(a netip.Addr) (x Sealed) {
	b := a.As16()
	s.hosts.Encrypt(x[:], b[:])
	return x
}

// OpenHost decrypts what SealHost returned.
func (s *Secret) OpenHost(x Sealed) netip.Addr {
	var b [16]byte
	s.hosts.Decrypt(b[:], x[:])
	return netip.AddrFrom16(b).Unmap()
}

// SealNetwork encrypts a network as measure.Network makes them: a /24, in IPv6 a /64.
func (s *Secret) SealNetwork(p netip.Prefix) (x Sealed) {
	b := p.Addr().As16()
	s.networks.Encrypt(x[:], b[:])
	return x
}

// OpenNetwork decrypts what SealNetwork returned. It returns an invalid prefix for anything else, as
// for what was sealed with another secret.
func (s *Secret) OpenNetwork(x Sealed) netip.Prefix {
	var b [16]byte
	s.networks.Decrypt(b[:], x[:])
	a := netip.AddrFrom16(b).Unmap()
	bits := 64
	if a.Is4() {
		bits = 24
	}
	p := netip.PrefixFrom(a, bits)
	if p.Masked() != p {
		return netip.Prefix{}
	}
	return p
}

// IsZero reports whether x is none.
func (x Sealed) IsZero() bool { return x == Sealed{} }

// String returns x as messages have it.
func (x Sealed) String() string { return base64.RawURLEncoding.EncodeToString(x[:]) }

// MarshalText implements encoding.TextMarshaler.
func (x Sealed) MarshalText() ([]byte, error) {
	return base64.RawURLEncoding.AppendEncode(nil, x[:]), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (x *Sealed) UnmarshalText(text []byte) error {
	if base64.RawURLEncoding.DecodedLen(len(text)) != len(x) {
		return errors.New("a sealed address has 22 letters")
	}
	_, err := base64.RawURLEncoding.Decode(x[:], text)
	return err
}
