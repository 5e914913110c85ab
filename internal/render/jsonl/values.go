package jsonl

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"strconv"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"qsniff/internal/base/jsonw"
	"qsniff/internal/flood"
	"qsniff/internal/render"
	"qsniff/internal/track/diff"
	"qsniff/internal/track/vantages"
)

// Records other than messages, exchanges and connections are structs, written by encoding/json. The
// schema is derived from the same structs: a jsonschema tag describes a member, one that begins with
// "experimental: " makes no promise to stay. A member is absent where its tag has omitempty or
// omitzero and it has no value; it is a pointer where zero is a value.

// The values of members whose form in JSON is not that of their type.
type (
	// text may have bytes of the network.
	text string
	// number may be of any sign; one that is not finite is null.
	number float64
	// quantity is not negative.
	quantity float64
	// share is of a whole, 0 to 1.
	share float64
	// moment is a Unix time in nanoseconds.
	moment int64
	// frame is the number of a packet.
	frame uint64
	// target is a server, a host, a network or a source.
	target string
	// optionalEnd is an address and port, null where it is not valid.
	optionalEnd netip.AddrPort
	// onlyTrue is absent where it is false.
	onlyTrue bool
	// fieldValue is the value of a field, or the bytes of one.
	fieldValue json.RawMessage

	wayName      string
	className    string
	sideName     string
	verdictName  string
	originName   string
	findingID    string
	severityName string
	faultName    string
	eventName    string
	levelName    string
	kindName     string
	basisName    string
	aspectName   string
)

func (t text) MarshalJSON() ([]byte, error) { return jsonw.Text(nil, string(t)), nil }
func (v number) MarshalJSON() ([]byte, error) {
	b, _ := jsonw.Float(nil, float64(v), 64)
	return b, nil
}
func (v quantity) MarshalJSON() ([]byte, error)   { return number(v).MarshalJSON() }
func (v share) MarshalJSON() ([]byte, error)      { return number(v).MarshalJSON() }
func (m moment) MarshalJSON() ([]byte, error)     { return jsonw.Time(nil, int64(m)), nil }
func (v fieldValue) MarshalJSON() ([]byte, error) { return v, nil }

func (e optionalEnd) MarshalJSON() ([]byte, error) {
	if end := netip.AddrPort(e); end.IsValid() {
		return jsonw.Text(nil, end.String()), nil
	}
	return []byte("null"), nil
}

// short returns v with four digits, which is as much as a ratio means.
func short[T ~float64](v T) T {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(float64(v), 'g', 4, 64), 64)
	if err != nil {
		return v
	}
	return T(rounded)
}

// millis returns a duration in milliseconds, with three digits after the point.
func millis(d time.Duration) quantity { return quantity(d.Microseconds()) / 1e3 }

// exactMillis returns nanoseconds in milliseconds.
func exactMillis[T ~int64](nanos T) number { return number(nanos) / 1e6 }

// ifAny returns v, or nil if it is zero: the member is absent then.
func ifAny[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

// transform returns the elements that f makes of those of a list. It is never nil, which would be null.
func transform[T, U any](all []T, f func(*T) U) []U {
	made := make([]U, len(all))
	for i := range all {
		made[i] = f(&all[i])
	}
	return made
}

// appendLine appends a record and the end of its line.
func appendLine(dst []byte, record any) []byte {
	line, err := json.Marshal(record)
	if err != nil {
		panic(err) // a type without a form in JSON: a mistake that the first record shows
	}
	dst = append(dst, line...)
	return append(dst, '\n')
}

// named begins the records that have a name.
type named struct {
	Schema int    `json:"schema"`
	Record string `json:"record"`
}

// Types are the types of records, by name.
var Types = map[string]reflect.Type{
	"comparison":     reflect.TypeFor[comparison](),
	"contrast":       reflect.TypeFor[contrast](),
	"summary":        reflect.TypeFor[diffSummary](),
	"difference":     reflect.TypeFor[difference](),
	"extent":         reflect.TypeFor[extent](),
	"finding":        reflect.TypeFor[repeatedFinding](),
	"incident":       reflect.TypeFor[incident](),
	"interrupted":    reflect.TypeFor[interrupted](),
	"limits":         reflect.TypeFor[limits](),
	"other_traffic":  reflect.TypeFor[otherTraffic](),
	"polls":          reflect.TypeFor[polls](),
	"proven":         reflect.TypeFor[proven](),
	"rules":          reflect.TypeFor[rules](),
	"vantage_server": reflect.TypeFor[vantageServer](),
	"vantages":       reflect.TypeFor[vantagesRecord](),
}

// Forms are the forms of those values in the schema, which defines what they refer to.
var Forms = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[text]():           {Type: "string"},
	reflect.TypeFor[number]():         {Type: "number"},
	reflect.TypeFor[quantity]():       {Type: "number", Minimum: new(0.0)},
	reflect.TypeFor[share]():          {Type: "number", Minimum: new(0.0), Maximum: new(1.0)},
	reflect.TypeFor[netip.Prefix]():   {Type: "string", Pattern: `^[0-9a-f:.]+/[0-9]+$`},
	reflect.TypeFor[kindName]():       {Enum: names(flood.NoKind+1, flood.NumKinds-1)},
	reflect.TypeFor[basisName]():      {Enum: names(flood.WholeCapture, flood.NumBases-1)},
	reflect.TypeFor[featureValues]():  {Type: "object", AdditionalProperties: &jsonschema.Schema{Types: []string{"number", "null"}}},
	reflect.TypeFor[moment]():         ref("time"),
	reflect.TypeFor[frame]():          ref("frame"),
	reflect.TypeFor[target]():         ref("target"),
	reflect.TypeFor[netip.AddrPort](): ref("end"),
	reflect.TypeFor[optionalEnd]():    {AnyOf: []*jsonschema.Schema{ref("end"), {Type: "null"}}},
	reflect.TypeFor[onlyTrue]():       {Const: new(any(true))},
	reflect.TypeFor[fieldValue]():     {Types: []string{"string", "number", "null"}},
	reflect.TypeFor[netip.Addr]():     {Type: "string", Pattern: `^[0-9a-f:.]+(%.+)?$`},
	reflect.TypeFor[interruption]():   ref("extent"),
	reflect.TypeFor[findingID]():      ref("id"),
	reflect.TypeFor[severityName]():   ref("severity"),
	reflect.TypeFor[faultName]():      ref("fault"),
	reflect.TypeFor[eventName]():      ref("event"),
	reflect.TypeFor[levelName]():      ref("level"),
	reflect.TypeFor[verdictName]():    {Enum: names(vantages.Unanswered, vantages.Flat)},
	reflect.TypeFor[originName]():     {Enum: names(vantages.Answers, vantages.Echoes)},
	reflect.TypeFor[aspectName]():     {Enum: names(render.AnswerAspect, render.ValueAspect)},
	reflect.TypeFor[wayName]():        {Enum: names(diff.UnknownWay, diff.ToClient)},
	reflect.TypeFor[className]():      {Enum: names(diff.Retransmitted, diff.AnsweredBetween)},
	reflect.TypeFor[sideName]():       {Enum: []any{"edge", "host"}},
}

func ref(name string) *jsonschema.Schema { return &jsonschema.Schema{Ref: "#/$defs/" + name} }

// names lists what the values from first to last are called.
func names[T interface {
	~uint8
	String() string
}](first, last T) (all []any) {
	for v := first; v <= last; v++ {
		all = append(all, v.String())
	}
	return all
}
