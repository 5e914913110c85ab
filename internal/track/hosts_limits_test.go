package track

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// Requests that are repeated too soon, just so, and late enough.
func TestEager(t *testing.T) {
	answers := func(n int, took string) string { return repeat(n, "0 z<A I answer took="+took) + " | " }
	repeated := func(rest string) string { return "1 a>A T ask | 1 a>A T again " + rest }
	checkHosts(t, []hostsCase{
		{"below the floor", answers(1, "9") + repeated("gap=49"), "A2S-C09 warn [3]"},
		{"at the floor", answers(1, "9") + repeated("gap=50"), ""},
		{"a server that answers nobody", repeated("gap=49"), "A2S-C09 note [2]"},
		{"below what the answers take", answers(slowOf, "200") + repeated("gap=199"), "A2S-C09 warn [22]"},
		{"at what the answers take", answers(slowOf, "200") + repeated("gap=200"), ""},
		{"one answer too few to know", answers(slowOf-1, "200") + repeated("gap=199"), ""},
		{"five of a hundred answers are slow", answers(95, "60") + answers(5, "200") + repeated("gap=199"), "A2S-C09 warn [102]"},
		{"four of a hundred answers are slow", answers(96, "60") + answers(4, "200") + repeated("gap=199"), ""},
		{"the third of a second", answers(1, "9") + repeated("gap=400 third=1"), "A2S-C09 warn [3]"},
		{"the second of a second", answers(1, "9") + repeated("gap=400"), ""},
		{"again", answers(1, "9") + repeated("gap=9") + " | 2 a>A T again gap=9", "A2S-C09 warn [3]"},
		{"another server, too", answers(1, "9") + repeated("gap=9") + " | 2 a<B I answer | 2 a>B T again gap=9", "A2S-C09 warn [3], A2S-C09 warn [5]"},
		{"after a gap", answers(1, "9") + "1 a>A T ask | 1.001 ! | 1.01 a>A T again gap=9", "A2S-C09 note [3]"},
		{"a gap long before", answers(1, "9") + "1 ! | 2.1 a>A T ask | 2.1 a>A T again gap=9", "A2S-C09 warn [3]"},
	})
	got, _ := tell(t, NewHosts(1), answers(1, "9")+repeat(eagerPerServer+1, "1 @>A T again gap=9"))
	if len(got) != eagerPerServer {
		t.Errorf("of one server\ngot  %d findings\nwant %d", len(got), eagerPerServer)
	}
}

// Every time lies in its bucket, and what is counted stays the sum of the buckets.
func TestAnswerTimes(t *testing.T) {
	var x answerTimes
	for nanos := int64(1); nanos < int64(answerWait); nanos += nanos/37 + 1 {
		before := x
		x.add(nanos)
		sum := 0
		for i, n := range x.buckets {
			sum += int(n)
			inside := bucketStart(i) <= nanos && (i == timeBuckets-1 || nanos < bucketStart(i+1))
			if x.all > before.all && (n > before.buckets[i]) != inside {
				t.Fatalf("%d ns: bucket %d from %d on has %d, had %d", nanos, i, bucketStart(i), n, before.buckets[i])
			}
		}
		if sum != int(x.all) || sum >= maxTimes {
			t.Fatalf("%d ns: %d in all, %d in buckets, at most %d", nanos, x.all, sum, maxTimes)
		}
	}
	x.add(math.MaxInt64 / stepsPerDoubling)
}

// What a server never sends, how often that must show, and what else explains silence.
func TestVain(t *testing.T) {
	const alive = "0 z>A T ask | 0 z<A I answer | "
	vain := func(n int, client string) string {
		return repeat(n, "1.% "+client+">A V ask | 4.% "+client+">A V silence") + " | "
	}
	last := func(at string) string { return at + " a>A V ask | " + at + " a>A V silence" }
	checkHosts(t, []hostsCase{
		{"five, of one client the second", alive + vain(3, "b") + vain(1, "a") + last("5"), "A2S-C08 warn [3 7]"},
		{"four", alive + vain(2, "b") + vain(1, "a") + last("5"), ""},
		{"the client's first", alive + vain(1, "b") + vain(1, "c") + vain(1, "d") + vain(1, "e") + last("5"), ""},
		{"information a minute before", alive + vain(3, "b") + vain(1, "a") + last("60"), "A2S-C08 warn [3 7]"},
		{"information more than a minute before", alive + vain(3, "b") + vain(1, "a") + last("60.001"), ""},
		{"no information", vain(3, "b") + vain(1, "a") + last("5"), ""},
		{"somebody got it", alive + "0 z<A E answer | " + vain(3, "b") + vain(1, "a") + last("5"), ""},
		{"something else", alive + "0 z<A D answer | " + vain(3, "b") + vain(1, "a") + last("5"), "A2S-C08 warn [4 8]"},
		{"requests for information", alive + strings.ReplaceAll(vain(3, "b")+vain(1, "a")+last("5"), "V", "T"), ""},
		{"challenges that nobody gave", alive + strings.NewReplacer("V ask", "V ask 7").Replace(vain(3, "b")+vain(1, "a")+last("5")), ""},
		{"with a gap", alive + vain(3, "b") + "4 ! | " + vain(1, "a") + last("5"), "A2S-C08 note [3 7]"},
		{"once for a client", alive + vain(3, "b") + vain(1, "a") + last("5") + " | " + last("6"), "A2S-C08 warn [3 7]"},
	})
}

// A reply that begins shows that the server sends such, whatever becomes of it.
func TestBegun(t *testing.T) {
	h := NewHosts(1)
	tell(t, h, "0 z>A T ask | 0 z<A I answer")
	f := Fact{Frame: 3, Age: 1e9*1e9 + 1, Server: endNamed(t, "A"), Client: endNamed(t, "z")}
	h.AddBegun(&f, queryRoles[queryRules])
	got, _ := tell(t, h, "1 b>A V ask | 4 b>A V silence | 5 b>A V ask | 8 b>A V silence | 9 a>A V ask | 12 a>A V silence | 13 b>A V ask | 16 b>A V silence | 17 b>A V ask | 20 b>A V silence")
	if s := strings.Join(got, ", "); strings.Contains(s, "A2S-C08") {
		t.Errorf("got  %s\nwant no A2S-C08", s)
	}
}

// Challenges that come back in another order than they were given.
func TestMixed(t *testing.T) {
	const given = "0 a>A U ask id=1 | 0 a<A A challenge 7 id=1 | 0 a<A A extra 8 id=1 | "
	checkHosts(t, []hostsCase{
		{"the newer first", given + "1 a>A U echo 8 id=1 | 1 a>A U again 7 id=1", "A2S-C10 error [1 5]"},
		{"as they came", given + "1 a>A U echo 7 id=1 | 1 a>A U again 8 id=1", ""},
		{"the newer alone", given + "1 a>A U echo 8 id=1 | 1 a>A U again 8 id=1", ""},
		{"a question more", given + "1 a>A U echo 8 id=1 | 1 a>A U ask 7 id=5", ""},
		{"one in place of the other", "0 a>A U ask id=1 | 0 a<A A challenge 7 id=1 | 0 a<A A challenge 8 id=1 | 1 a>A U echo 8 id=1 | 1 a>A U again 7 id=1", ""},
		{"given for another question", "0 a>A U ask id=1 | 0 a<A A challenge 7 id=1 | 0 a<A A extra 8 id=2 | 1 a>A U echo 8 id=1 | 1 a>A U again 7 id=1", ""},
		{"as old as a challenge may be", given + "1 a>A U echo 8 id=1 | 30 a>A U again 7 id=1", "A2S-C10 error [1 5]"},
		{"older", given + "1 a>A U echo 8 id=1 | 30.001 a>A U again 7 id=1", ""},
		{"reported once", given + "1 a>A U echo 8 id=1 | 1 a>A U again 7 id=1 | 1 a>A U again 7 id=1", "A2S-C10 error [1 5]"},
	})
}

// A command with an old challenge and no answer is sure only while the capture shows replies.
func TestOldConsole(t *testing.T) {
	const given = "0 a>A C ask | 0 a<A c answer 7 | "
	command := func(at string) string { return at + " a>A R ask 7 | " + at + " a>A R silence 7" }
	checkHosts(t, []hostsCase{
		{"old", given + command("30.001"), "RCN-06 warn [2 3]"},
		{"fresh", given + command("30"), ""},
		{"another challenge", given + "40 a>A R ask 8 | 40 a>A R silence 8", ""},
		{"a reply a minute before", given + command("60"), "RCN-06 warn [2 3]"},
		{"no reply for more than a minute", given + command("60.001"), "RCN-06 note [2 3]"},
		{"to somebody else", given + "50 b<A I answer | " + command("100"), "RCN-06 warn [2 4]"},
		{"of another server", given + "50 b<B I answer | " + command("100"), "RCN-06 note [2 4]"},
		{"refused, which is sure", given + "100 a>A R ask 7 | 100 a<A l refused", "RCN-06 warn [2 4]"},
		{"requests only", "0 a>A C ask | " + command("40"), ""},
	})
}

// Full tables evict, count what may hide a finding, and never grow.
func TestFullTables(t *testing.T) {
	const size = 4
	waiting := NewHosts(float64(size) / maxWaiting)
	clients := tableOf[pairKey, waitingClient](t, waiting)
	tell(t, waiting, "0 z>A T ask | 0 z<A I answer | "+repeat(size+2, "1 @>A V ask | 4 @>A V silence"))
	if n := waiting.Evicted(); n != 0 || clients.Len() != size {
		t.Errorf("clients that asked once\ngot  %d evicted, %d kept\nwant 0, %d", n, clients.Len(), size)
	}
	tell(t, waiting, repeat(size+2, "5 @>A V ask | 8 @>A V silence | 9 @>A V ask | 12 @>A V silence"))
	if n := waiting.Evicted(); n == 0 || clients.Len() != size {
		t.Errorf("clients that asked again\ngot  %d evicted, %d kept\nwant some, %d", n, clients.Len(), size)
	}
	eager := NewHosts(float64(size) / maxEager)
	servers := tableOf[End, eagerClients](t, eager)
	var script []string
	for i := range size + 1 {
		script = append(script, fmt.Sprintf("1 a>%c T again gap=9", 'A'+i))
	}
	first, _ := tell(t, eager, strings.Join(script, " | "))
	again, _ := tell(t, eager, script[0])
	if len(first) != size+1 || len(again) != 1 || servers.Len() != size || eager.Evicted() != 2 {
		t.Errorf("servers with eager clients\ngot  %d and %d findings, %d kept, %d evicted\nwant %d and 1, %d, 2", len(first), len(again), servers.Len(), eager.Evicted(), size+1, size)
	}
}

// Of two exchanges at once the later one may end first: the frames of a finding are in their order all the same.
func TestEndedInOtherOrder(t *testing.T) {
	const both = "0 a>A T ask | 0 a<A A challenge 7 | 1 a>A T echo 7 | 1 a1>A T ask 7 | 2 b>A T ask | 2 b<A I answer | "
	checkHosts(t, []hostsCase{
		{"the earlier first", both + "4 a>A T silence 7 | 4 a1>A T silence 7", "A2S-S02 error [3 4]"},
		{"the later first", both + "4 a1>A T silence 7 | 4 a>A T silence 7", "A2S-S02 error [3]"},
	})
}
