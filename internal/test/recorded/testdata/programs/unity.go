package main

import (
	"fmt"
	"net"
	"os"

	"github.com/Unity-Technologies/unity-gaming-services-go-sdk/game-server-hosting/server/proto"
	"github.com/Unity-Technologies/unity-gaming-services-go-sdk/game-server-hosting/server/proto/a2s"
)

// maxRequest is the longest request that is read.
const maxRequest = 2048

// serveUnity serves A2S as a game server does that was built with Unity's SDK for hosted game servers: information
// for those who bring a challenge, and nothing else.
func serveUnity(addr string, _ []string) (any, error) {
	q, err := a2s.NewQueryResponder(&proto.QueryState{
		CurrentPlayers: 3, MaxPlayers: 24, ServerName: "Jäger & Söhne [EU]", GameType: "capture the flag", Map: "harbour_night",
	})
	if err != nil {
		return nil, err
	}
	conn, err := net.ListenPacket("udp4", addr)
	if err != nil {
		return nil, err
	}
	fmt.Println("ready")
	buf := make([]byte, maxRequest)
	for {
		n, from, err := conn.ReadFrom(buf)
		if err != nil {
			return nil, err
		}
		if n < 5 {
			continue // the SDK takes five bytes for granted
		}
		reply, err := q.Respond(from.String(), buf[:n])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		if _, err := conn.WriteTo(reply, from); err != nil {
			return nil, err
		}
	}
}
