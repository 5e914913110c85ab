#!/bin/sh
# A client that refuses A2S_INFO replies without the extra data flag (EDF).
#
# The good guess: the EDF byte is optional. The protocol's description has it only if bytes are left, servers of
# older engines have none, and a client reads a reply that ends after the version.
#
# What happens: the server side of Unity's Go SDK for hosted game servers (v0.5.4) sends no EDF, ever.
# github.com/woozymasta/a2s v0.3.0 fails on that reply: "EDF read failed". It returns nothing of what it
# had read by then, name, map and players, so that such a server looks dead. github.com/rumblefrog/go-a2s v1.0.2 reads it.
#
# Why it matters: a monitor built on the one library reports servers as down that answer correctly, and a capture
# shows a question, a challenge, the right reply and then nothing. Who looks for the fault at the server looks at the wrong end.
#
# It needs Go 1.26 and a network that has modules. Everything is in a folder that is removed in the end, and all
# packets stay on 127.0.0.1. It exits with 1 if the client reads the reply, or if the reply has an EDF after all.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >go.mod <<'EOF'
module example

go 1.26

require (
	github.com/Unity-Technologies/unity-gaming-services-go-sdk v0.5.4
	github.com/rumblefrog/go-a2s v1.0.2
	github.com/woozymasta/a2s v0.3.0
)
EOF
cat >main.go <<'EOF'
package main

import (
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/Unity-Technologies/unity-gaming-services-go-sdk/game-server-hosting/server/proto"
	unity "github.com/Unity-Technologies/unity-gaming-services-go-sdk/game-server-hosting/server/proto/a2s"
	gosource "github.com/rumblefrog/go-a2s"
	woozy "github.com/woozymasta/a2s/pkg/a2s"
)

func main() {
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	check(err)
	q, err := unity.NewQueryResponder(&proto.QueryState{CurrentPlayers: 3, MaxPlayers: 24, ServerName: "Harbour", Map: "night"})
	check(err)
	go func() {
		buf := make([]byte, 2048)
		for {
			n, from, err := conn.ReadFrom(buf)
			check(err)
			reply, err := q.Respond(from.String(), buf[:n])
			check(err)
			fmt.Printf("server: %q\n", reply)
			conn.WriteTo(reply, from)
		}
	}()
	addr := conn.LocalAddr().String()

	a, err := gosource.NewClient(addr)
	check(err)
	info, err := a.QueryInfo()
	check(err)
	fmt.Printf("go-a2s v1.0.2: %s, %s, %d of %d players, EDF %#x\n", info.Name, info.Map, info.Players, info.MaxPlayers, info.EDF)

	b, err := woozy.NewWithString(addr)
	check(err)
	_, err = b.GetInfo()
	fmt.Printf("woozymasta/a2s v0.3.0: %v\n", err)
	if info.EDF != 0 || err == nil || !strings.Contains(err.Error(), "EDF") {
		fmt.Println("CHANGED: the reply has an EDF, or the client reads it without one")
		os.Exit(1)
	}
}

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
}
EOF
GOFLAGS=-mod=mod go mod tidy >/dev/null 2>&1
go run .
