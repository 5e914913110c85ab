package text

import (
	"net/netip"
	"testing"

	"qsniff/dissect"
	"qsniff/dissect/a2s"
	"qsniff/dissect/goldsource"
	"qsniff/internal/render"
	"qsniff/reassembly/wire"
)

// The messages that the tests show. Comments in the hex name the fields.
const (
	hexInfo = `
		ff ff ff ff 49 11                                    # header, opcode, protocol
		54 65 73 74 20 73 65 72 76 65 72 00                  # name
		64 65 5f 64 75 73 74 32 00  63 73 67 6f 00           # map, folder
		43 6f 75 6e 74 65 72 2d 53 74 72 69 6b 65 3a 20
		47 6c 6f 62 61 6c 20 4f 66 66 65 6e 73 69 76 65 00   # game
		da 02  03 10 01  64 6c  00 01                        # app_id, players, type, visibility, vac
		31 2e 33 38 2e 37 2e 39 00                           # version
		f1  87 69  04 e0 ec a7 64 17 40 01                   # edf, port, steam_id
		8c 69  4d 79 20 54 56 00                             # tv_port, tv_name
		65 6d 70 74 79 2c 73 65 63 75 72 65 00               # keywords
		da 02 00 00 00 00 00 00                              # game_id`
	hexShip = `
		ff ff ff ff 49 07                                    # header, opcode, protocol
		53 68 69 70 20 73 65 72 76 65 72 00                  # name
		61 74 61 6c 61 6e 74 61 00  73 68 69 70 00           # map, folder
		54 68 65 20 53 68 69 70 00                           # game
		60 09  02 20 01  64 77  00 01  00 02 05              # app_id to duration
		31 2e 30 2e 30 2e 31 36 00                           # version`
	hexShipPlayers = `
		ff ff ff ff 44 02                                    # header, opcode, count
		00  53 68 69 70 6d 61 74 65 31 00  00 00 00 00  00 00 80 bf
		01  41 6e 6e 00                    02 00 00 00  48 21 7c 43
		03 00 00 00 d6 06 00 00                              # deaths, money
		00 00 00 00 3c f6 ff ff`
	hexRules = `
		ff ff ff ff 45 02 00                                 # header, opcode, count
		6d 70 5f 74 69 6d 65 6c 69 6d 69 74 00  32 30 00     # mp_timelimit 20
		73 76 5f 67 72 61 76 69 74 79 00  38 30 30 00        # sv_gravity 800`
	hexHLTV = `
		ff ff ff ff 6d                                       # header, opcode
		31 30 2e 30 2e 30 2e 35 3a 32 37 30 32 30 00         # address
		48 4c 54 56 00  64 65 5f 64 75 73 74 32 00           # name, map
		63 73 74 72 69 6b 65 00                              # folder
		43 6f 75 6e 74 65 72 2d 53 74 72 69 6b 65 00         # game
		ff ff 30 70 6c 00 00  00  9c 01 00 00 e8 03 00 00    # players to mod, vac, spectators`
	hexPadded = `
		ff ff ff ff 55  ff ff ff ff
		00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00`
	hexHostile = `
		ff ff ff ff 49 11
		1b 5b 32 4a e2 80 ae 67 6e 70 2e 22 5c c2 9b e2 80 8b ff 65 cc 81 00   # name: ANSI, bidi, C1, zero width
		e6 9d b1 e4 ba ac f0 9f 98 80 f0 9f 98 80 f0 9f 98 80 f0 9f 98 80 f0 9f 98 80
		e6 9d b1 e4 ba ac e6 9d b1 e4 ba ac e6 9d b1 e4 ba ac e6 9d b1 e4 ba ac 00 # map: wide
		00 00  00 00 ff 0a 00 64 6c 00 01 31 00              # folder to version
		80 87 69  64 65 61 64 20 62 65 65 66 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d`
)

// event dissects b and puts it where a capture would.
func event(t testing.TB, b []byte, wire int, from wire.Engine) *render.Event {
	t.Helper()
	a := a2s.New()
	r, err := dissect.NewRegistry(goldsource.New(a), a)
	if err != nil {
		t.Fatal(err)
	}
	server, client := netip.MustParseAddrPort("198.18.0.1:27015"), netip.MustParseAddrPort("10.64.0.1:40001")
	c := dissect.Context{Src: server, Dst: client, Wire: wire, FromSplit: from}
	v := r.Pick(&c, b)
	typ := v.Type
	var d dissect.Dissector = a
	if v.Dissector != nil {
		d = v.Dissector
	}
	m := new(dissect.Message)
	m.Reset(d.Proto(), b)
	d.Dissect(&c, typ, b, m)
	if typ != nil && !typ.Reply {
		c.Src, c.Dst = c.Dst, c.Src
	}
	return &render.Event{Frame: 12, Nanos: 1_700_000_000_000_370_000, File: -1, Iface: -1, Src: c.Src, Dst: c.Dst,
		Reply: typ == nil || typ.Reply, Msg: m}
}
