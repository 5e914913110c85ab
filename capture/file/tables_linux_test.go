//go:build cgo

package file

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/gopacket/layers"
)

// TestFreeTables: the tables are empty, and their memory is given back.
func TestFreeTables(t *testing.T) {
	resident := func() int {
		b, err := os.ReadFile("/proc/self/statm")
		if err != nil {
			t.Fatal(err)
		}
		pages, err := strconv.Atoi(strings.Fields(string(b))[1])
		if err != nil {
			t.Fatal(err)
		}
		return pages * os.Getpagesize()
	}
	ether, ppp := layers.EthernetTypeMetadata, layers.PPPTypeMetadata
	defer func() { layers.EthernetTypeMetadata, layers.PPPTypeMetadata = ether, ppp }() // other tests decode
	before := resident()
	FreeTables()
	FreeTables() // nothing is left to free
	if freed := before - resident(); freed < 11<<19 {
		t.Errorf("%d bytes were given back", freed)
	}
	for _, table := range [][]layers.EnumMetadata{layers.EthernetTypeMetadata[:], layers.PPPTypeMetadata[:]} {
		for i := range table {
			if table[i] != (layers.EnumMetadata{}) {
				t.Fatalf("row %d is %v", i, table[i])
			}
		}
	}
}
