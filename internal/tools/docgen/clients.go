package docgen

import (
	"bytes"
	"fmt"
	"strings"

	"qsniff/dissect"
	"qsniff/internal/track/fingerprint"
)

const clientsIntro = `Which program asks a server shows in its requests: most programs ask for information with the same bytes, but differ in what they
have in place of a challenge, whether they bring it again, in which order and from how many ports they ask. ` + "`qsniff stats`" + ` shows the
program of each client that it lists, and how many clients each program is; ` + "`qsniff exchanges -o json`" + ` has it as client_name and
client_confidence, ` + "`qsniff -o json`" + ` as client, as far as the visit shows up to that message, and the display filter as client.name:

    qsniff stats FILE
    qsniff -Y 'client.name contains gamedig' FILE

What counts is a visit: the exchanges of one client address with one server without a pause of more than five seconds, as far as they
were answered. Packets from invented addresses, which nobody answers, show nothing. A client is shown by the visit that showed most. It is no
proof: a program can ask as another one does, two that share an address can look like a third, and scanners that send a single
request for information through their system cannot be told from programs that do. Those that make packets themselves are: their time
to live is not that of a system. A machine on the way that sets it to 255 would make a program that asks once look like them, and so do
requests in the name of somebody else that a server answers, as in a reflection: these are made in the same way.

Nothing is claimed of programs that were neither recorded nor published. Of the Steam client one remark is published, about the list of
servers in games; of the program itself nothing, and services such as BattleMetrics publish neither. At a server they are unknown-.

A client whose signs fit no row is called unknown- with four digits made of its signs: equal ones have one name, in every capture.
`

// clientsPage lists the fingerprints, and what they are made of.
func clientsPage() []byte {
	var b bytes.Buffer
	b.WriteString("# Programs that ask\n\n" + notice + clientsIntro + "\n## Programs\n\nThe first row that fits counts: all signs that it needs are there, and none that it does not show.\n\n")
	writeHead(&b, "program", "sure", "because", "needs", "may show besides", "known from")
	for i := range fingerprint.Table {
		f := &fingerprint.Table[i]
		var sources []string
		for _, p := range f.Programs {
			how := "published: "
			if p.IsRecorded {
				how = "recorded: "
			}
			sources = append(sources, p.Name+", "+how+p.Source)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", escapeCell(f.Name()), f.Confidence, escapeCell(f.Why), signNames(f.Needs),
			signNames(f.Shows&^f.Needs), escapeCell(strings.Join(sources, "; ")))
	}
	b.WriteString("\n## Signs\n\n")
	writeHead(&b, "sign", "means")
	for name, meaning := range fingerprint.Every.All() {
		fmt.Fprintf(&b, "| %s | %s |\n", name, meaning)
	}
	fmt.Fprintf(&b, "\n%s is how sure a name is where a program could be another one, %s where no other is known that asks so.\n",
		code(dissect.Maybe.String()), code(dissect.Likely.String()))
	return b.Bytes()
}

func signNames(s fingerprint.Signs) string {
	var all []string
	for name := range s.All() {
		all = append(all, name)
	}
	return strings.Join(all, ", ")
}
