package responder

import (
	"encoding/binary"
	"io"
	"net"
)

// Types of RCON packets. Two is a command from the client and the answer to a
// login from the server.
const (
	typeResponse = 0
	typeCommand  = 2
	typeLogin    = 2
	typeAuth     = 3
)

// frame is how many bytes the size of a packet counts besides the body: id, type, and a
// NUL each for the body and for the empty string after it.
const frame = 10

// refusedID is the id in the answer to a wrong password, and to a command before login.
const refusedID = -1

// RCON answers like SRCDS does over TCP.
type RCON struct {
	Password string
	// Bodies are what commands are answered with, each body a packet of its own.
	// Other commands get one empty packet.
	Bodies map[string][]string
	// Terse omits the empty packet with which the Source engine precedes the
	// answer to a login, as Counter-Strike 2, Minecraft and others do.
	Terse bool
}

// Serve answers one client until it closes the connection or sends what is no packet.
func (r *RCON) Serve(conn net.Conn) {
	isLoggedIn := false
	for {
		id, kind, body, ok := readPacket(conn)
		if !ok {
			return
		}
		var reply []byte
		switch {
		case kind == typeAuth:
			isLoggedIn = body == r.Password
			reply = r.answerLogin(id, isLoggedIn)
		case !isLoggedIn:
			reply = appendPacket(nil, refusedID, typeLogin, "")
		case kind == typeCommand:
			reply = r.answerCommand(id, body)
		case kind == typeResponse:
			reply = answerMirror(id)
		default:
			return
		}
		// One write: the engine sends what belongs together in one segment.
		if _, err := conn.Write(reply); err != nil {
			return
		}
	}
}

func (r *RCON) answerLogin(id int32, isLoggedIn bool) []byte {
	var out []byte
	if !r.Terse {
		out = appendPacket(out, id, typeResponse, "")
	}
	if !isLoggedIn {
		id = refusedID
	}
	return appendPacket(out, id, typeLogin, "")
}

func (r *RCON) answerCommand(id int32, command string) []byte {
	bodies, ok := r.Bodies[command]
	if !ok {
		bodies = []string{""}
	}
	var out []byte
	for _, body := range bodies {
		out = appendPacket(out, id, typeResponse, body)
	}
	return out
}

// answerMirror returns the answer to the empty packet with which clients find the end of a long reply:
// SRCDS sends it back and then one with the body 00 01 00 00.
func answerMirror(id int32) []byte {
	out := appendPacket(nil, id, typeResponse, "")
	return appendPacket(out, id, typeResponse, "\x00\x01\x00\x00")
}

func appendPacket(dst []byte, id, kind int32, body string) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(body)+frame))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(id))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(kind))
	dst = append(dst, body...)
	return append(dst, 0, 0)
}

// readPacket reads the next packet; ok is false if there is none, or it is malformed.
func readPacket(r io.Reader) (id, kind int32, body string, ok bool) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return 0, 0, "", false
	}
	n := binary.LittleEndian.Uint32(size[:])
	if n < frame || n > maxRequest {
		return 0, 0, "", false
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return 0, 0, "", false
	}
	id, kind = int32(binary.LittleEndian.Uint32(b)), int32(binary.LittleEndian.Uint32(b[4:]))
	return id, kind, string(b[8 : n-2]), true
}

// limit: maxRequest bounds the size field of a command: Minecraft refuses more than
// 1,460 bytes, and no client sends as much.
const maxRequest = 4096
