// Package examples makes the files that examples of the manual name, so that each of them can be
// run: by tests, and by the tool that shows their outputs on the site. It is no part of qsniff.
package examples

import (
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/zstd"
)

// pingDump is what tcpdump -X prints of a datagram that asks for a sign of life.
const pingDump = "22:13:20.000000 IP 10.64.0.1.40001 > 198.18.0.1.27015: UDP, length 5\n" +
	"\t0x0000:  4500 0021 0000 0000 4011 a4a8 0a40 0001  E..!....@....@..\n" +
	"\t0x0010:  c612 0001 9c41 6987 000d 0000 ffff ffff  .....Ai.........\n" +
	"\t0x0020:  69                                       i\n"

// Captures are the captures that examples name, by the files below pcapfiles that they are.
var Captures = map[string]string{
	"capture.pcap":  "a2s/info-trailing.pcap",
	"rcon.pcap":     "rcon/srcds-login-status.pcap",
	"attack.pcapng": "floods/spoofed.pcap",
	"evening.pcap":  "a2s/full-poll.pcap",
	"clients.pcap":  "stories/challenge-ignored.pcap",
	"servers.pcap":  "stories/challenge-on-one-server.pcap",
	"near.pcap":     "vantages/near.pcap",
	"far.pcap":      "vantages/far.pcap",
}

// Write writes the files into dir: captures whole, packed, cut and in folders, payloads, and the
// program for jq that lies beside pcapfiles, the repository's folder of captures.
func Write(dir, pcapfiles string) error {
	files := map[string][]byte{
		"qsniff.toml": []byte("file = \"ring\"\n"),
		"dump.txt":    []byte(pingDump),
		"part1.bin":   []byte("\xfe\xff\xff\xff\x07\x00\x00\x00\x02\x00\x14\x00\xff\xff\xff\xffE\x02\x00mp_timelimit\x00"),
		"part2.bin":   []byte("\xfe\xff\xff\xff\x07\x00\x00\x00\x02\x01\x14\x0020\x00sv_gravity\x00800\x00"),
	}
	for name, of := range Captures {
		data, err := os.ReadFile(filepath.Join(pcapfiles, filepath.FromSlash(of)))
		if err != nil {
			return err
		}
		files[name] = data
	}
	var err error
	const ecs = "contrib/ecs.jq" // the manual names it as it is in a clone
	if files[ecs], err = os.ReadFile(filepath.Join(pcapfiles, "..", filepath.FromSlash(ecs))); err != nil {
		return err
	}
	one, poll := files["capture.pcap"], files["evening.pcap"]
	files["tuesday/a.pcap"], files["ring/a.pcap"] = one, one
	files["damaged.pcap"] = one[:len(one)-10]
	if err := addPacked(files, one, poll); err != nil {
		return err
	}
	for name, data := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, data, 0o644); err != nil {
			return err
		}
	}
	// These are read by their owner alone, or refused. The second one lies in /etc in examples.
	pair, err := certificate()
	if err != nil {
		return err
	}
	secrets := map[string]string{"qsniff.token": "0123456789abcdef\n", "qsniff.pem": pair, "qsniff/fleet.secret": "a secret of a fleet for examples\n"}
	if err := os.MkdirAll(filepath.Join(dir, "qsniff"), 0o755); err != nil {
		return err
	}
	for name, text := range secrets {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// certificate returns a certificate and its key, PEM.
func certificate() (string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", err
	}
	x := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, x, x, &key.PublicKey, key)
	if err != nil {
		return "", err
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})) + string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})), nil
}

// addPacked adds compressed captures.
func addPacked(files map[string][]byte, one, poll []byte) error {
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		return fmt.Errorf("zstd: %w", err)
	}
	defer enc.Close()
	files["evening.pcap.zst"] = enc.EncodeAll(poll, nil)
	files["monday.pcapng.zst"] = enc.EncodeAll(one, nil)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(one); err != nil {
		return fmt.Errorf("gzip: %w", err)
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("gzip: %w", err)
	}
	files["tuesday.pcap.gz"] = packed.Bytes()
	return nil
}
