package flood

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"qsniff/dissect"
	"qsniff/internal/base/digits"
	"qsniff/internal/flood/measure"
)

// QueryKind is one type of the packets of an incident.
type QueryKind struct {
	Type           *dissect.Type // nil: of no known type, or several
	IsOther        bool          // of no known protocol: they do not even begin like a query
	IsRest         bool          // all types that a Shape had no room for
	Packets        uint64
	Share          float64 // of all packets whose form was counted
	MinLen, MaxLen int     // bytes of payload
	CommonLen      int     // the length of at least commonShare of its packets; 0: there is none
	WithChallenge  float64 // share of its packets that bring a challenge
}

// Name returns the name of the type; "unknown" for packets that begin like a query and are
// none, "no query" for those that do not, "other" for several types.
func (k *QueryKind) Name() string {
	if k.IsRest {
		return "other"
	}
	if k.IsOther {
		return "no query"
	}
	if k.Type == nil {
		return "unknown"
	}
	return k.Type.Name
}

// Kinds returns the types of the incident's packets, most first.
func (in *Incident) Kinds() []QueryKind {
	var all []QueryKind
	total := in.OtherForms
	for i := range in.Shape {
		f := &in.Shape[i]
		total += f.Packets
		k := slices.IndexFunc(all, func(x QueryKind) bool { return x.Type == f.Type && x.IsOther == f.IsOther })
		if k < 0 {
			k = len(all)
			all = append(all, QueryKind{Type: f.Type, IsOther: f.IsOther, MinLen: int(f.Min), MaxLen: int(f.Max)})
		}
		if f.Min == f.Max && float64(f.Packets) >= commonShare*float64(in.packetsOf(f)) {
			all[k].CommonLen = int(f.Min)
		}
		x := &all[k]
		x.Packets += f.Packets
		x.MinLen, x.MaxLen = min(x.MinLen, int(f.Min)), max(x.MaxLen, int(f.Max))
		if f.HasKey {
			x.WithChallenge += float64(f.Packets)
		}
	}
	for i := range all {
		x := &all[i]
		x.Share, x.WithChallenge = measure.Share(float64(x.Packets), float64(total)), measure.Share(x.WithChallenge, float64(x.Packets))
	}
	if in.OtherForms > 0 {
		all = append(all, QueryKind{IsRest: true, Packets: in.OtherForms, Share: measure.Share(float64(in.OtherForms), float64(total))})
	}
	slices.SortStableFunc(all, func(a, b QueryKind) int { return cmp.Compare(b.Packets, a.Packets) })
	return all
}

// commonShare is the share of a type's packets from which on they count as having one
// length. Chosen: the others are those that clients send meanwhile.
const commonShare = 0.9

// packetsOf returns how many packets of the type of a form the shape has.
func (in *Incident) packetsOf(f *measure.Form) (n uint64) {
	for i := range in.Shape {
		if x := &in.Shape[i]; x.Type == f.Type && x.IsOther == f.IsOther {
			n += x.Packets
		}
	}
	return n
}

// namedKind is the least share of a type that DescribeKinds names. Chosen: one in a hundred,
// below which it is what clients send meanwhile.
const namedKind = 0.01

// DescribeKinds returns the types of the incident's packets as a sentence; empty if no form
// was counted.
func (in *Incident) DescribeKinds() string {
	var words []string
	for _, k := range in.Kinds() {
		if k.Share < namedKind && len(words) > 0 {
			break
		}
		if k.IsRest {
			words = append(words, "others "+percent(k.Share))
			continue
		}
		s := fmt.Sprintf("%s %s (%s", k.Name(), percent(k.Share), k.describeLength())
		if k.WithChallenge > 0 {
			s += ", " + percent(k.WithChallenge) + " with a challenge"
		}
		words = append(words, s+")")
	}
	if len(words) == 0 {
		return ""
	}
	return "what came: " + strings.Join(words, ", ")
}

func (k *QueryKind) describeLength() string {
	if k.CommonLen > 0 {
		return digits.Counted(uint64(k.CommonLen), "byte")
	}
	return fmt.Sprintf("%d to %d bytes", k.MinLen, k.MaxLen)
}
