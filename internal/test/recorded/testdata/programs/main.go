// Command programs is the Go modules that are recorded: clients that ask a server, and servers.
//
//	programs go-a2s HOST:PORT [info] [players] [rules]
//	programs go-mc HOST:PORT PASSWORD COMMAND...
//	programs go-rcon HOST:PORT PASSWORD COMMAND...
//	programs serve-unity HOST:PORT
//	programs serve-go-mc HOST:PORT PASSWORD
//	programs serve-master HOST:PORT
//
// A client prints as JSON what its module returned. A server prints a line when it is ready.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"

	mcnet "github.com/Tnze/go-mc/net"
	gorcon "github.com/jltobler/go-rcon"
	a2s "github.com/rumblefrog/go-a2s"
)

func main() {
	log.SetFlags(0)
	programs := map[string]func(addr string, args []string) (any, error){
		"go-a2s": askGoA2S, "go-mc": commandGoMC, "go-rcon": commandGoRCON,
		"serve-unity": serveUnity, "serve-go-mc": serveGoMC, "serve-master": serveMaster,
	}
	printed, err := programs[os.Args[1]](os.Args[2], os.Args[3:])
	if err != nil {
		log.Fatal(err)
	}
	out, err := json.MarshalIndent(printed, "", " ")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", out)
}

func askGoA2S(addr string, args []string) (any, error) {
	c, err := a2s.NewClient(addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var out struct {
		Info    *a2s.ServerInfo `json:"info,omitempty"`
		Players *a2s.PlayerInfo `json:"players,omitempty"`
		Rules   *a2s.RulesInfo  `json:"rules,omitempty"`
	}
	for _, what := range args {
		switch what {
		case "info":
			out.Info, err = c.QueryInfo()
		case "players":
			out.Players, err = c.QueryPlayer()
		case "rules":
			out.Rules, err = c.QueryRules()
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// answers is what the commands of a console returned.
type answers struct {
	Answers []string `json:"answers"`
}

func commandGoMC(addr string, args []string) (any, error) {
	c, err := mcnet.DialRCON(addr, args[0])
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var out answers
	for _, command := range args[1:] {
		if err := c.Cmd(command); err != nil {
			return nil, err
		}
		answer, err := c.Resp()
		if err != nil {
			return nil, err
		}
		out.Answers = append(out.Answers, answer)
	}
	return out, nil
}

func commandGoRCON(addr string, args []string) (any, error) {
	c, err := gorcon.Dial(addr, args[0])
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var out answers
	for _, command := range args[1:] {
		answer, err := c.SendCommand(command)
		if err != nil {
			return nil, err
		}
		out.Answers = append(out.Answers, answer)
	}
	return out, nil
}

// Types of RCON packets that clients send.
const (
	typeCommand = 2
	typeLogin   = 3
)

// serveGoMC serves RCON with go-mc, which sends and reads the packets. What they say is Minecraft's: a command or a
// login that is refused is answered with the id -1, another type with a sentence that names it.
func serveGoMC(addr string, args []string) (any, error) {
	l, err := mcnet.ListenRCON(addr)
	if err != nil {
		return nil, err
	}
	fmt.Println("ready")
	for {
		c, err := l.Accept()
		if err != nil {
			return nil, err
		}
		go answerGoMC(c.(*mcnet.RCONConn), args[0])
	}
}

func answerGoMC(c *mcnet.RCONConn, password string) {
	defer c.Close()
	isLoggedIn := false
	for {
		id, kind, body, err := c.ReadPacket()
		if err != nil {
			return // the client has gone
		}
		switch {
		case kind == typeLogin:
			if isLoggedIn = body == password; !isLoggedIn {
				id = -1
			}
			err = c.WritePacket(id, typeCommand, "")
		case !isLoggedIn:
			err = c.WritePacket(-1, typeCommand, "")
		case kind == typeCommand:
			c.ReqID = id
			err = c.RespCmd(answer(body))
		default:
			err = c.WritePacket(id, 0, fmt.Sprintf("Unknown request %x", kind))
		}
		if err != nil {
			return
		}
	}
}

// answer is what the console answers. The longest fills a packet of 4,096 bytes, which is as
// long as go-mc takes.
func answer(command string) string {
	switch command {
	case "list":
		return "There are 2 of a max of 20 players online: Ann, Bob"
	case "help":
		return strings.Repeat("/help [page]\n", 314)
	case "say":
		return ""
	}
	return "Unknown or incomplete command, see below for error\n" + command + "<--[HERE]"
}
