package extract

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Decoder decodes the payloads of a request and of its reply, and returns the reply as JSON, or
// nil if that has another protocol or status than in the capture.
type Decoder func(x *Exchange, payloads [][]byte) ([]byte, error)

// Write makes a folder in dir for each exchange, and a README.md that lists them. It returns how
// many it made: exchanges are left out whose payloads alone do not say what they said in the
// capture, because earlier messages told more.
func Write(dir string, exchanges []Exchange, p *Payloads, decode Decoder) (made int, err error) {
	var index strings.Builder
	for i := range exchanges {
		x := &exchanges[i]
		request, reply := p.of(x.Request), p.of(x.Reply)
		if len(request) != 1 || len(reply) == 0 {
			continue
		}
		expected, err := decode(x, append(request, reply...))
		if err != nil {
			return made, err
		}
		if expected == nil || hashFields(expected) != x.fields {
			continue
		}
		made++
		name := fmt.Sprintf("%03d-%s-%s", made, x.Proto, x.Message)
		files := map[string][]byte{"expected.json": expected}
		addPayload(files, "request", request[0])
		for n, b := range reply {
			addPayload(files, fmt.Sprintf("reply-%d", n+1), b)
		}
		hasChallenge := "no"
		if first, challenge := p.of(x.First), p.of(x.Challenge); len(first) == 1 && len(challenge) == 1 {
			addPayload(files, "first-request", first[0])
			addPayload(files, "challenge", challenge[0])
			hasChallenge = "yes"
		}
		if err := writeFolder(filepath.Join(dir, name), files); err != nil {
			return made, err
		}
		fmt.Fprintf(&index, "| [%s](%s) | %s | %s | %d | %s |\n", name, name, x.Proto, x.Message, len(reply), hasChallenge)
	}
	return made, os.WriteFile(filepath.Join(dir, "README.md"), []byte(readme+index.String()), 0o600)
}

// addPayload adds a payload as bytes and as hexadecimal.
func addPayload(files map[string][]byte, name string, b []byte) {
	files[name+".bin"] = b
	var text []byte
	for line := b; len(line) > 0; line = line[min(len(line), hexWidth):] {
		text = append(hex.AppendEncode(text, line[:min(len(line), hexWidth)]), '\n')
	}
	files[name+".hex"] = text
}

func writeFolder(dir string, files map[string][]byte) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// readme is the README.md of a folder of fixtures, up to the rows of its table.
const readme = `# Recorded exchanges of game-server queries

Each folder is one exchange, as test data for a library that makes such queries. It was made by
qsniff extract --fixtures.

| file | has |
|---|---|
| request.bin | the payload of the UDP datagram that the server answered |
| reply-1.bin, reply-2.bin, ... | the payloads of the answer, in the order in which they came |
| first-request.bin, challenge.bin | where the server demanded a challenge: what was asked first, and the challenge; request.bin brings it back |
| the same as .hex | hexadecimal, 32 bytes a line |
| expected.json | what the answer says once it is joined: protocol, message, status and fields |

In a test, answer the request of your library with the replies, byte by byte, and compare what it
makes of them with "fields". A challenge in request.bin is the recorded server's: give yours
the one in challenge.bin. "frames" numbers the payloads, of which request.bin is the first. In a
folder, this prints expected.json again, after the line of the request:

    qsniff decode --raw -o json --as PROTOCOL request.bin $(ls reply-*.bin | sort -t- -k2n)

| folder | protocol of the reply | request | datagrams of the reply | challenge |
|---|---|---|---|---|
`
