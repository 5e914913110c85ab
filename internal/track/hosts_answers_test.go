package track

import "testing"

// A client proves its address, and is challenged five times in all, after 20 ms each.
const challengedOften = "0 a>A U ask | 0 a<A A challenge 7 ttl=52 took=20 | 0 a>A U echo 7 | 0 a<A D answer ttl=52 | "

func TestCached(t *testing.T) {
	again := repeat(4, "% a>A U ask | % a<A A challenge 7 ttl=52 took=20") + " | "
	answers := func(n int, rest string) string { return repeat(n, "% a>A T ask | % a<A I answer "+rest) }
	// Once a second an answer, other bytes every five.
	periods := func(seconds string) (all string) {
		for i := range 31 {
			s := string(rune('1' + i/5))
			all += repeat(1, string(rune('0'+i/10))+string(rune('0'+i%10))+" b<A I answer print="+s) + " | "
		}
		return all + seconds
	}
	checkHosts(t, []hostsCase{
		{"TTL and time", challengedOften + again + answers(3, "print=1 ttl=61 took=1"), "MBX-01 note [14 18]"},
		{"once", challengedOften + again + answers(9, "print=1 ttl=61 took=1"), "MBX-01 note [14 18]"},
		{"TTL and period", challengedOften + again + periods(answers(3, "print=7 ttl=61")), "MBX-01 note [45 49]"},
		{"time and a map that was left", challengedOften + again + "0 a<A I answer print=1 map=1 took=9 | 1 a<A I answer print=2 map=2 took=9 | 2 a<A I answer print=1 map=1 took=9",
			"MBX-01 note [13 15]"},
		{"TTL alone", challengedOften + again + answers(9, "print=1 ttl=61 took=11"), ""},
		{"time alone", challengedOften + again + answers(9, "print=1 ttl=52 took=1"), ""},
		{"period alone", challengedOften + again + periods(answers(3, "print=7 ttl=52 took=20")), ""},
		{"TTL by one", challengedOften + again + answers(9, "print=1 ttl=53 took=1"), ""},
		{"half the time", challengedOften + again + answers(9, "print=1 ttl=61 took=10"), ""},
		{"twice", challengedOften + again + answers(2, "print=1 ttl=61 took=1"), ""},
		{"a few challenges", challengedOften + answers(9, "print=1 ttl=61 took=1"), ""},
		{"an unproven client", repeat(6, "0 a>A U ask | 0 a<A A challenge 7 ttl=52 took=20") + " | " + answers(9, "print=1 ttl=61 took=1"), ""},
		{"challenges of another client", challengedOften + again + repeat(9, "% b>A T ask | % b<A I answer print=1 ttl=61 took=1"), ""},
		{"a player leaves and comes back", challengedOften + again + "0 a<A I answer print=1 map=1 took=9 | 1 a<A I answer print=2 map=1 took=9 | 2 a<A I answer print=1 map=1 took=9", ""},
		{"copies", challengedOften + again + repeat(9, "% a<A I extra print=1 ttl=61 took=1"), ""},
	})
}

func TestReframed(t *testing.T) {
	checkHosts(t, []hostsCase{
		{"fields", "0 a<A I answer form=177 | 1 a<A I answer form=1 | 2 a<A I answer form=177 | 3 a<A I answer form=1", "MBX-02 note [2 4]"},
		{"parts", "0 a<A E answer size=1248 bytes=3000 | 1 a<A E answer size=1400 bytes=3000 | 2 a<A E answer size=1248 bytes=3000 | 3 a<A E answer size=1400 bytes=3000",
			"MBX-02 note [2 4]"},
		{"short and split", "0 a<A E answer bytes=1100 | 1 a<A E answer size=600 bytes=900", "MBX-02 note [1 2]"},
		{"once", "0 a<A E answer bytes=1100 | 1 a<A E answer size=600 bytes=900 | 2 a<A E answer size=600 bytes=900", "MBX-02 note [1 2]"},
		{"a change", "0 a<A I answer form=177 | 1 a<A I answer form=177 | 2 a<A I answer form=1 | 3 a<A I answer form=1", ""},
		{"a restart", "0 a<A I answer form=177 | 1 a<A I answer form=1 | 2 a<A I answer form=177", ""},
		{"restarts", "0 a<A I answer form=177 | 1 a<A I answer form=1 | 200 a<A I answer form=177 | 300 a<A I answer form=1", ""},
		{"another server", "0 a<A I answer form=177 | 1 a<B I answer form=1 | 2 a<A I answer form=177 | 3 a<B I answer form=1", ""},
		{"as long and split", "0 a<A E answer bytes=1100 | 1 a<A E answer size=600 bytes=1100", "MBX-02 note [1 2]"},
		{"long and split", "0 a<A E answer bytes=1100 | 1 a<A E answer size=600 bytes=1200", ""},
		{"short and split, later", "0 a<A E answer bytes=1100 | 61 a<A E answer size=600 bytes=900", ""},
		{"another kind", "0 a<A I answer bytes=1100 | 1 a<A E answer size=600 bytes=900", ""},
	})
}

func TestAnswerTexts(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"0 a<A I answer form=177 | 1 a<A I answer form=1 | 2 a<A I answer form=177 | 3 a<A I answer form=1",
			"answers come by turns with the optional fields 0xb1 and 0x1"},
		{"0 a<A E answer size=1248 bytes=3000 | 1 a<A E answer size=1400 bytes=3000 | 2 a<A E answer size=1248 bytes=3000 | 3 a<A E answer size=1400 bytes=3000",
			"answers come by turns in parts of 1248 and of 1400 bytes, or with headers of two engines"},
		{"0 a<A E answer bytes=1100 | 1 a<A E answer size=600 bytes=900", "an answer of 900 bytes comes in parts, and one of 1100 bytes of the same kind in one datagram"},
		{challengedOften + repeat(4, "% a>A U ask | % a<A A challenge 7 ttl=52 took=20") + " | " + repeat(3, "% a>A T ask | % a<A I answer print=1 ttl=61 took=1"),
			"answered in the server's place, TTL 61 where challenges have 52, after 1 ms where a challenge takes 20 ms at least: how old its numbers are is not known"},
	} {
		if _, texts := tell(t, NewHosts(1), tc.in); len(texts) != 1 || texts[0] != tc.want {
			t.Errorf("%s\ngot  %q\nwant %q", tc.in, texts, tc.want)
		}
	}
}

func TestUnrequested(t *testing.T) {
	const before = "0 z>A T ask | 0 z<A I answer | "
	many := func(n int) string { return repeat(n, "20.% a<A I stray") }
	checkHosts(t, []hostsCase{
		{"five in a second", before + many(5), "LIE-01 warn [3 7]"},
		{"once", before + many(9), "LIE-01 warn [3 7]"},
		{"gap", before + "15 ! | " + many(5), "LIE-01 note [3 7]"},
		{"nobody asks anybody", "0 z<B I stray | " + many(5), "LIE-01 note [2 6]"},
		{"asked long ago", before + "9 a>A T ask | 9 a<A I answer | " + many(5), "LIE-01 warn [5 9]"},
		{"four", before + many(4), ""},
		{"one a second", before + repeat(9, "2% a<A I stray"), ""},
		{"asked", before + "11 a>A T ask | 11 a<A I answer | " + many(5), ""},
		{"asked another server", before + "11 a>B T ask | 11 a<B I answer | " + many(5), ""},
		{"challenges", before + repeat(5, "20.% a<A A stray 7"), ""},
		{"the capture began shortly before", "11 z>A T ask | 11 z<A I answer | " + many(5), ""},
		{"of many servers", before + repeat(5, "20.% a<A I stray | 20.% a<B I stray | 20.% a<C I stray | 20.% a<D I stray | 20.% a<E I stray | 20.% a<F I stray"+
			" | 20.% a<G I stray | 20.% a<H I stray | 20.% a<I I stray"), ""},
	})
}

func TestMonitorUnanswered(t *testing.T) {
	poll := func(at string) string {
		return at + " a>A T ask | " + at + " b>A T ask | " + at + " b<A I answer | " + at + " a>A T silence | "
	}
	other := func(at string) string { return at + " b>A T ask | " + at + " b<A I answer | " }
	flood := repeat((maxSilences+2)/2, "1 @>A T ask | 1 @>A T silence | 1 @1>A T ask | 1 @1>A T silence")
	three := poll("10") + other("15") + poll("20") + other("25") + poll("30")
	checkHosts(t, []hostsCase{
		{"three in a row", other("9") + three + "40 a>A T ask", "MON-01 warn [3 13]"},
		{"once", other("9") + three + poll("40") + "41 a>A T ask", "MON-01 warn [3 13]"},
		{"gap", other("9") + poll("10") + "12 ! | " + other("15") + poll("20") + other("25") + poll("30") + "40 a>A T ask", "MON-01 note [3 13]"},
		{"two in a row", other("9") + poll("10") + other("15") + poll("20") + "40 a>A T ask", ""},
		{"one was answered", other("9") + poll("10") + poll("20") + "25 a>A T ask | 25 a<A I answer | " + poll("30") + "40 a>A T ask", ""},
		{"another question was answered", other("9") + poll("10") + poll("20") + "25 a>A U ask | 25 a<A D answer | " + poll("30") + "40 a>A T ask", ""},
		{"in a minute with a flood", other("0") + flood + " | " + other("9") + three + "40 a>A T ask", ""},
		{"a minute after a flood", other("0") + flood + " | " + other("69") + poll("70") + other("75") + poll("80") + other("85") + poll("90") + "100 a>A T ask", "MON-01 warn [39 49]"},
		{"no fixed time", other("9") + poll("10") + poll("20") + poll("31.1") + "40 a>A T ask", ""},
		{"almost a fixed time", other("9") + poll("10") + poll("20") + poll("30.9") + "40 a>A T ask", "MON-01 warn [3 9]"},
		{"too often", other("9") + poll("10") + poll("11") + poll("12") + "40 a>A T ask", ""},
		{"nobody is answered", other("9") + repeat(3, "1% a>A T ask | 1% a>A T silence") + " | 40 a>A T ask", ""},
		{"others are answered something else", "9 b>A U ask | 9 b<A D answer | " + repeat(3, "1% a>A T ask | 1% b<A D answer | 1% a>A T silence") + " | 40 a>A T ask", ""},
		{"the server was away for the second", other("9") + poll("10") + "20 a>A T ask | 20 a>A T silence | " + poll("30") + "40 a>A T ask", ""},
		{"the server was away since the first", other("9") + "10 a>A T ask | 10 a>A T silence | 20 a>A T ask | 20 a>A T silence | " + poll("30") + "40 a>A T ask", ""},
	})
}
