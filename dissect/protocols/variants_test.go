package protocols

import (
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"qsniff/dissect"
	"qsniff/internal/test/dissecttest"
	"qsniff/internal/test/testpcap"
)

const (
	variantsEach  = 6   // messages of a type, of different lengths
	variantsBytes = 160 // bytes at the start of a message that are changed, and an eighth of that at its end
)

// outcomes counts what variants of the messages of a type are read as.
type outcomes struct {
	counts map[string]int
	all    io.Writer // a hash of every field
	sum    func() uint64
}

// variants is the outcomes of each type, by the name of the type and what was changed.
type variants map[string]*outcomes

func (x variants) of(name, change string) *outcomes {
	key := name + " " + change
	if x[key] == nil {
		h := fnv.New64a()
		x[key] = &outcomes{counts: map[string]int{}, all: h, sum: h.Sum64}
	}
	return x[key]
}

// add adds a message, or what was found instead of one if m is nil.
func (o *outcomes) add(m *dissect.Message, found string) {
	fmt.Fprintln(o.all, found)
	if m == nil {
		o.counts[found]++
		return
	}
	o.counts[fmt.Sprintf("%s/%s", found, m.Status)]++
	for i := range m.Fields {
		f := &m.Fields[i]
		fmt.Fprintln(o.all, f.Def.Name, f.Num, f.Note, f.Off, f.Len, f.Depth, f.Flags)
	}
	for i := range m.Expert {
		o.counts[m.Expert[i].Code.ID]++
		fmt.Fprintf(o.all, "%d %v %s\n", m.Expert[i].Field, m.Expert[i].Severity, m.Expert[i].AppendText(nil))
	}
	fmt.Fprintln(o.all, m.Key, m.Learn, m.Refused, m.Form, m.Page.At, m.StoppedAt, string(m.Aux))
}

// eachVariant calls f with b as it is, cut, longer, and with each byte changed; wire is how long it was.
func eachVariant(b []byte, f func(change string, b []byte, wire int)) {
	f("whole", b, len(b))
	step := 1 + len(b)/variantsBytes
	for n := 0; n < len(b); n += step {
		f("cut", b[:n], len(b))
		f("short", b[:n], n)
	}
	for _, more := range []string{"\x00", "x", "\x00\x00\x00", "\n"} {
		f("long", append(slices.Clip(b), more...), len(b)+len(more))
	}
	for i := range b {
		if i >= variantsBytes && i < len(b)-variantsBytes/8 {
			continue
		}
		was := b[i]
		for _, x := range []byte{0, 1, was + 1, was - 1, was ^ 0x20, 0xff} {
			b[i] = x
			f("changed", b, len(b))
		}
		b[i] = was
	}
}

// TestVariants: what becomes of messages that are cut, longer, or have another byte, in testdata/variants.txt. A line counts
// verdicts with how far the message could be read, and findings; its last word is a hash of all fields. Another line is another
// way to read what is not quite as it should be: -update writes the file.
func TestVariants(t *testing.T) {
	reg := registry(t)
	reg.KnowForeign(Foreign())
	all := variants{}
	var names []string
	seen := map[string]int{}
	for _, d := range datagrams(t, append(ordinary(), "lookalike")...) {
		c := &dissect.Context{Src: d.Src, Dst: d.Dst}
		if d.Src.Port() < d.Dst.Port() {
			c.FromServer.Asked = dissect.AskInfo | dissect.AskPlayers | dissect.AskRules
		}
		name := "none"
		if v := reg.Pick(&dissect.Context{Src: d.Src, Dst: d.Dst, Wire: len(d.Payload)}, d.Payload); v.Type != nil {
			name = v.Dissector.Proto().Name + " " + v.Type.Name
		}
		most := variantsEach
		if name == "none" {
			most *= 5
		}
		length := fmt.Sprint(name, len(d.Payload))
		if seen[name] == most || seen[length] > 0 {
			continue
		}
		if seen[name] == 0 {
			names = append(names, name)
		}
		seen[name]++
		seen[length]++
		m := new(dissect.Message)
		eachVariant(slices.Clone(d.Payload), func(change string, b []byte, wire int) {
			c.Wire = wire
			o := all.of(name, change)
			v := reg.Pick(c, b)
			if v.Dissector == nil {
				reply, isForeign := reg.Foreign(c, b)
				o.add(nil, fmt.Sprint("none ", reg.ForeignType(b, wire), reply, isForeign, reg.IsJunk(b), dissect.MayBeMerged(b)))
				return
			}
			if k, ok := v.Dissector.(dissect.Keyer); ok {
				key, form, isAll := k.Key(c, v.Type, b)
				fmt.Fprintln(o.all, key, form, isAll)
			}
			m.Reset(v.Dissector.Proto(), b)
			v.Dissector.Dissect(c, v.Type, b, m)
			o.add(m, fmt.Sprint(v.Type.Name, "/", v.Conf))
		})
	}
	names = append(names, streamVariants(t, all)...)
	var got strings.Builder
	for _, name := range names {
		for _, change := range []string{"whole", "cut", "short", "long", "changed"} {
			o := all[name+" "+change]
			if o == nil {
				continue
			}
			fmt.Fprintf(&got, "%s, %s:", name, change)
			for _, k := range slices.Sorted(maps.Keys(o.counts)) {
				fmt.Fprintf(&got, " %s %d,", k, o.counts[k])
			}
			fmt.Fprintf(&got, " #%04x\n", o.sum()&0xffff)
		}
	}
	golden(t, "testdata/variants.txt", got.String())
}

// streamVariants adds the messages of RCON in the captures, one segment at a time, and where the next one is sought after a gap.
func streamVariants(t *testing.T, all variants) (names []string) {
	files, err := filepath.Glob("../../pcapfiles/rcon/*.hex")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d captures, %v", len(files), err)
	}
	var budget dissect.Budget
	budget.Limit = 1 << 20
	seen := map[string]int{}
	for _, file := range files {
		capture, err := testpcap.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := range capture.Segments {
			s := &capture.Segments[i]
			for _, p := range All() {
				d, ok := p.(dissect.StreamDissector)
				if !ok || len(s.Payload) == 0 || len(s.Payload) > 400 {
					continue
				}
				stream := dissect.Stream{Dir: dissect.ToServer, Opened: true}
				if s.Src.Port() < s.Dst.Port() {
					stream.Dir = dissect.ToClient
				}
				c := &dissect.Context{Src: s.Src, Dst: s.Dst, Stream: &stream}
				name := fmt.Sprint(p.Proto().Name, " to the server")
				if stream.Dir == dissect.ToClient {
					name = fmt.Sprint(p.Proto().Name, " to the client")
				}
				length := fmt.Sprint(name, len(s.Payload))
				if seen[name] == 5*variantsEach || seen[length] > 0 {
					continue
				}
				if seen[name] == 0 {
					names = append(names, name)
				}
				seen[name]++
				seen[length]++
				session := d.AppendSessions(nil, 1, &budget)[0]
				eachVariant(slices.Clone(s.Payload), func(change string, b []byte, wire int) {
					o := all.of(name, change)
					stream.Session = nil
					r := d.Frame(c, b)
					found := fmt.Sprint(r.Conf)
					if r.Type != nil {
						found = fmt.Sprint(r.Type.Name, "/", r.Conf)
					}
					stream.Session = session
					for _, last := range []bool{false, true} {
						skip, need := d.Resync(c, b, last)
						fmt.Fprintln(o.all, r.Len, r.Need, r.Bad, skip, need)
					}
					o.add(dissecttest.RunStream(d, c, b, wire), found)
					session.Reset()
				})
			}
		}
	}
	return names
}
