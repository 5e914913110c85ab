package pipeline

import (
	"reflect"
	"strconv"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"qsniff/internal/render/tally"
	"qsniff/reassembly/tcpstream"
)

// uncounted are numbers of the totals that are no counters of the run.
var uncounted = map[string]bool{
	".link":            true, // names a link type
	".source.Received": true, // packets is the same
	".abandoned":       true, // some of those that the fragments' counters have
}

// TestSummaryHasEveryCounter: whatever the reader or a partition counts is in what the
// run came to, so that one that is added cannot be left out.
func TestSummaryHasEveryCounter(t *testing.T) {
	f := &fold{}
	before := f.summary()
	var look func(path string, v reflect.Value)
	look = func(path string, v reflect.Value) {
		if uncounted[path] {
			return
		}
		switch v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem(); v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				look(path+"."+v.Type().Field(i).Name, v.Field(i))
			}
		case reflect.Array: // of the reasons of packet, or of what it does not read: the first is none
			for i := 1; i < v.Len(); i++ {
				look(path+"."+strconv.Itoa(i), v.Index(i))
			}
		case reflect.Uint64, reflect.Int64, reflect.Uint16:
			v.Set(reflect.ValueOf(1).Convert(v.Type()))
			if cmp.Equal(before, f.summary()) {
				t.Errorf("%s is not in the summary", path)
			}
			v.SetZero()
		default:
			t.Errorf("%s: a %v", path, v.Kind())
		}
	}
	look("", reflect.ValueOf(&f.reader).Elem())
	look("", reflect.ValueOf(&f.parts[Partitions-1]).Elem())
}

// What happened is in the summary of all partitions.
func TestSummaryAddsUp(t *testing.T) {
	f := &fold{}
	f.parts[1].tcp = tcpstream.Counters{Conns: 9, Evicted: 2, Expired: 3, GivenUp: 4}
	f.parts[2].tcp = tcpstream.Counters{Conns: 1, Evicted: 10, Expired: 20, GivenUp: 30}
	want := tally.Run{TCP: tcpstream.Counters{Conns: 10, Evicted: 12, Expired: 23, GivenUp: 34}}
	if diff := cmp.Diff(want, f.summary(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
}
