package clients

import (
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/internal/test/binary"
	"qsniff/internal/test/netns"
	"qsniff/internal/test/responder"
)

// TestLiveRcon is TestRconClient over a cable that is watched, with a password that
// is shown, and one that is not.
func TestLiveRcon(t *testing.T) {
	node, npm := program(t, "node"), modules(t, "rcon-client")
	here, there := netns.NewCable(t, serverEnd, clientEnd)
	qsniff := binary.Path(t)
	server := &responder.RCON{Password: password, Bodies: map[string][]string{"status": {"hostname: x\n"}, "cvarlist": {"one\n", "two\n"}}}
	port := serveTCP(t, here, server.Serve)
	sniffers := map[string]*sniffer{"hidden": sniff(t, here, qsniff, "-i", serverEnd.Name)}
	for _, backend := range backends(t, qsniff) {
		sniffers[backend] = sniff(t, here, qsniff, "-i", serverEnd.Name, "--backend", backend, "--show-secrets")
	}
	commands := []string{"status", "cvarlist", ""}
	var printed rconPrinted
	parse(t, outputIn(t, there, append([]string{node, "rcon.mjs", npm, serverEnd.IP, port, password}, commands...)...), &printed)
	if printed.Error != "" || len(printed.Answers) != len(commands) {
		t.Fatalf("rcon-client: %+v", printed)
	}
	for name, s := range sniffers {
		secret := password
		if name == "hidden" {
			secret = "<redacted>"
		}
		requests, replies, _ := rconRead(t, s.end(t))
		sent := rconSent(password, commands, &printed)
		sent[0].Body = secret
		if diff := cmp.Diff(sent, requests); diff != "" {
			t.Errorf("%s: requests: rcon-client -, qsniff +\n%s", name, diff)
		}
		if diff := cmp.Diff(rconCame(commands, &printed), replies); diff != "" {
			t.Errorf("%s: replies: rcon-client -, qsniff +\n%s", name, diff)
		}
	}
}

// serveTCP hands connections in a namespace to serve until t ends, and returns the
// port that is listened at.
func serveTCP(t *testing.T, ns *netns.Namespace, serve func(net.Conn)) (port string) {
	t.Helper()
	var l net.Listener
	var err error
	ns.Do(func() { l, err = net.Listen("tcp4", serverEnd.IP+":0") })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed
			}
			go func() {
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
	_, port, err = net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
