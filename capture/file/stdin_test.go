package file

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"qsniff/capture"
)

// helperVariable makes the test binary read standard input instead of testing.
// The value says how.
const helperVariable = "QSNIFF_TEST_READ_STDIN"

func TestMain(m *testing.M) {
	switch os.Getenv(helperVariable) {
	case "native":
		r, err := Open(stdinArg)
		printPackets(r, err)
	case "libpcap":
		s, err := OpenLibpcap(stdinArg)
		printPackets(s, err)
	default:
		os.Exit(m.Run())
	}
}

func printPackets(src capture.Source, err error) {
	var b capture.Batch
	for err == nil {
		err = src.Read(&b)
		for _, p := range b.Packets {
			fmt.Printf("%d %d %s %d %d\n", p.No, p.Nanos, p.Data, p.Wire, p.Link)
		}
	}
	if err != io.EOF {
		fmt.Println(err)
	}
}

const packetsOnStdin = "1 1000000000 abc 60 276\n2 2000000000 de 2 276\n"

func fileOnStdin() []byte {
	v := variants[0]
	file := v.record(v.header(4, 0, 276), 1, 0, 3, 60, []byte("abc"))
	return v.record(file, 2, 0, 2, 2, []byte("de"))
}

func TestStandardInput(t *testing.T) {
	file := fileOnStdin()
	checkStdin(t, "native", file, packetsOnStdin)
	checkStdin(t, "native", file[:len(file)-1], "1 1000000000 abc 60 276\n"+
		"standard input: byte 43: record cut: its header promises 2 bytes, 1 remain\n")
	checkStdin(t, "native", nil, "standard input: empty, not even a file header\n")
}

// checkStdin has the test binary read in, once as a pipe and once as a file.
func checkStdin(t *testing.T, how string, in []byte, want string) {
	t.Helper()
	f, err := os.Open(writeFile(t, "x.pcap", in))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, stdin := range []io.Reader{bytes.NewReader(in), f} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), helperVariable+"="+how)
		cmd.Stdin = stdin
		got, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s, %T:\ngot  %s\nwant %s", how, stdin, got, want)
		}
	}
}
