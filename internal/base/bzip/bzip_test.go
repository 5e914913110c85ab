package bzip

import (
	"bytes"
	"compress/bzip2"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	dsnet "github.com/dsnet/compress/bzip2"
)

// TestPack: what is packed comes out again, with two decoders, whatever the size.
func TestPack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 700)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	rules := "\xff\xff\xff\xffE\x3a\x00"
	for i := range 58 {
		rules += []string{"mp_", "sv_", "tf_"}[i%3] + strings.Repeat("gravity", i%3) + "\x00" + []string{"0", "1", "800"}[i*i%3] + "\x00"
	}
	for name, text := range map[string]string{
		"a byte": "a", "equal bytes": strings.Repeat("a", 1000), "a run of four": "xaaaay", "a period": strings.Repeat("abc", 5000),
		"all bytes": string(noise), "rules": rules, "the longest": strings.Repeat("\x00\x01\x01\x00\x01", maxText/5),
	} {
		size := newStream([]byte(text), 0).least()
		for _, n := range []int{size, size + 1, size + 100} {
			b := Pack([]byte(text), n)
			if len(b) != n {
				t.Fatalf("%s: %d bytes, want %d", name, len(b), n)
			}
			one, err := io.ReadAll(bzip2.NewReader(bytes.NewReader(b)))
			if err != nil || string(one) != text {
				t.Errorf("%s in %d bytes: %v, %q", name, n, err, one[:min(len(one), 50)])
			}
			z, err := dsnet.NewReader(bytes.NewReader(b), nil)
			if err != nil {
				t.Fatal(err)
			}
			if two, err := io.ReadAll(z); err != nil || string(two) != text {
				t.Errorf("%s in %d bytes: %v, %q", name, n, err, two[:min(len(two), 50)])
			}
		}
	}
	for _, text := range []string{"", strings.Repeat("a", maxText+1)} {
		if Pack([]byte(text), 1000) != nil {
			t.Errorf("%d bytes were packed", len(text))
		}
	}
	if Pack([]byte(rules), newStream([]byte(rules), 0).least()-1) != nil {
		t.Error("packed into fewer bytes than that takes")
	}
	if Pack([]byte("a"), 5000) != nil {
		t.Error("more selectors than decoders accept")
	}
}
