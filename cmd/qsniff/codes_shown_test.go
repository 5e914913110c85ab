package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"qsniff/dissect/protocols"
)

// shownBy says of every finding, by its id, which capture of the repository raises it, and which
// is near one that does and must not.
var shownBy = map[string]struct{ raises, near string }{
	"A2S-C01": {"a2s/challenge-never-brought", "a2s/challenge-brought-near"},
	"A2S-C02": {"a2s/challenge-in-wrong-place", "stories/challenge-handshake"},
	"A2S-C03": {"stories/challenge-never-issued", "a2s/challenge-unused-near"},
	"A2S-C04": {"a2s/exchange-challenge-wrong", "stories/challenge-never-issued"},
	"A2S-C05": {"stories/challenge-decimal", "a2s/challenge-negative"},
	"A2S-C06": {"a2s/challenge-unused", "a2s/challenge-unused-near"},
	"A2S-C07": {"goldsource/info-old", "goldsource/xash-info"},
	"A2S-C08": {"stories/rules-never-sent", "a2s/rules-never-near"},
	"A2S-C09": {"a2s/repeated-soon", "a2s/repeated-near"},
	"A2S-C10": {"a2s/challenges-mixed", "a2s/challenges-mixed-near"},
	"A2S-C11": {"a2s/info-padded-1200", "stories/challenge-handshake"},
	"A2S-S01": {"stories/challenge-handshake", "a2s/info-demand-near"},
	"A2S-S02": {"stories/valid-retry-unanswered", "a2s/unanswered"},
	"A2S-S03": {"a2s/challenge-loop", "a2s/challenge-repeated-rotates"},
	"A2S-S04": {"a2s/open-near", "stories/bridge-hides-clients"},
	"A2S-S05": {"a2s/players-never-sent", "a2s/players-never-near"},
	"A2S-S06": {"stories/rules-never-sent", "a2s/players-never-sent"},
	"A2S-S07": {"a2s/rules-cut-on-border", "a2s/rules"},
	"A2S-S08": {"a2s/exchange-two-forms", "a2s/challenges-mixed-near"},
	"A2S-S09": {"stories/wrong-opcode", "stories/three-replies"},
	"A2S-S10": {"stories/garbage-replies", "stories/wrong-opcode"},
	"A2S-S11": {"a2s/rules-arma3", "a2s/rules"},
	"A2S-S12": {"a2s/info-extreme-counts", "a2s/info-edf-all"},
	"A2S-S13": {"a2s/info-trailing", "a2s/info-edf-all"},
	"A2S-S14": {"a2s/rules-arma3-damaged", "a2s/rules-arma3-shuffled"},
	"A2S-S15": {"a2s/rules-arma3-damaged", "a2s/rules-arma3"},
	"ASE-01":  {"stories/mta-game-port", "ase/game-port-near"},
	"ASE-02":  {"ase/full-length-overrun", "ase/full-1364-bytes"},
	"ASE-03":  {"ase/full-player-flags-overrun", "ase/full-some-flags"},
	"CAP-01":  {damaged + "a2s/full-poll", "a2s/full-poll"},
	"CAP-02":  {"lookalike/ports-of-ours", "net/ports-of-others"},
	"DOS-A01": {"stories/cache-before-challenge", "a2s/open-near"},
	"DOS-A02": {"stories/hltv-obsolete-words", "goldsource/words-near"},
	"DOS-L01": {"a2s/engine-limit", "a2s/engine-limit-near"},
	"DOS-L02": {"a2s/shared-limit", "a2s/engine-limit-near"},
	"LIE-01":  {"stories/unrequested-information", "a2s/unrequested-near"},
	"LIE-02":  {severalClients + "vantages/near vantages/far", severalClients + "vantages/near vantages/far-near"},
	"LIE-03":  {"stories/players-not-listed", "answers/counts-near"},
	"LIE-04":  {"answers/times-stand-still", "answers/times-still-near"},
	"LIE-05":  {"answers/players-came-together", "answers/players-came-near"},
	"LIE-06":  {"answers/one-id", "answers/one-id-near"},
	"LIE-07":  {"answers/count-never-changes", "answers/count-same-near"},
	"LIE-08":  {"answers/one-list", "answers/one-list-near"},
	"LIE-09":  {"stories/players-not-listed", "answers/counts-near"},
	"MBX-01":  {"stories/proxy-answers", "answers/cache-near"},
	"MBX-02":  {"answers/fields-by-turns", "answers/fields-near"},
	"MON-01":  {"stories/monitor-unanswered", "a2s/polls-near"},
	"LIM-01":  {"hostile/rules-beyond-field-limit", "a2s/css-2007"},
	"LIM-02":  {"hostile/rcon-holes", "rcon/reply-gap"},
	"MST-01":  {"stories/master-budget", "master/list-two-pages"},
	"MST-02":  {"stories/master-silent", "master/silent-near"},
	"MST-03":  {"master/chain-broken", "master/chain-near"},
	"NET-01":  {"net/answer-from-other-address", "hostile/fragments-two-ends"},
	"NET-02":  {"stories/query-port", "a2s/game-port-same"},
	"NET-03":  {"stories/bridge-hides-clients", "net/bridge-near"},
	"NET-04":  {"net/icmp-port-unreachable", "a2s/unanswered"},
	"NET-05":  {"a2s/exchange-retry-and-late", "a2s/unanswered"},
	"NET-06":  {"rcon/gap-before-answer", "rcon/reply-reordered"},
	"NET-07":  {"hostile/rcon-overlap", "rcon/sequence-wrap"},
	"NET-08":  {"rcon/mid-stream", "rcon/one-byte-segments"},
	"NET-09":  {"net/udp-length", "net/ethernet"},
	"NET-10":  {"net/echo", "net/ethernet"},
	"LIE-10":  {"answers/many-answers", "answers/many-near"},
	"LIE-11":  {"answers/ghosts", "answers/ghosts-near"},
	"MST-04":  {"master/join-unanswered", "master/join-answered"},
	"NET-11":  {"a2s/refused-in-words", "a2s/refused-for-pace"},
	"NET-12":  {"a2s/refused-for-pace", "a2s/refused-in-words"},
	"RCN-01":  {"rcon/login-failed", "rcon/srcds-login-status"},
	"RCN-02":  {"rcon/srcds-login-status", "rcon/mid-stream"},
	"RCN-03":  {"stories/rcon-output-cut", "rcon/reply-three-packets"},
	"RCN-04":  {"rcon/command-before-auth", "rcon/srcds-login-status"},
	"RCN-05":  {"stories/rcon-no-mirror", "rcon/reply-three-packets"},
	"RCN-06":  {"stories/hltv-challenge-expired", "goldsource/rcon-challenge-near"},
	"RCN-07":  {"stories/rcon-guessing", "rcon/stale-password"},
	"RCN-08":  {"rcon/srcds-login-status", "rcon/ipv6"},
	"RCN-09":  {"rcon/impossible-size", "rcon/reply-three-packets"},
	"RCN-10":  {"rcon/stale-password", "rcon/stale-password-near"},
	"RCN-11":  {"rcon/palworld", "rcon/minecraft"},
	"RCN-12":  {"rcon/squad", "rcon/factorio"},
	"RCN-13":  {"rcon/login-failed-size-11", "rcon/login-failed"},
	"RCN-14":  {"rcon/same-ids", "rcon/two-commands"},
	"RCN-15":  {"rcon/command-reset", "rcon/command-quit"},
	"RCN-16":  {"rcon/command-unanswered", "rcon/command-slow"},
	"RCN-17":  {"rcon/fin-before-answer", "rcon/fin-after-answer"},
	"RCN-18":  {"rcon/console-refused", "rcon/port-checked"},
	"RCN-19":  {"rcon/body-cut", "rcon/body-with-nuls"},
	"RCN-20":  {"rcon/size-of-text", "rcon/palworld"},
	"RCN-21":  {"rcon/two-open-one-id", "rcon/one-id-in-turn"},
	"RCN-22":  {"rcon/banned-with-text", "rcon/refused-with-text"},
	"SPL-01":  {"split/missing-part", "split/source-shuffled"},
	"SPL-02":  {"split/duplicate-part", "split/source-shuffled"},
	"SPL-03":  {"split/conflicting-part", "split/duplicate-part"},
	"SPL-04":  {"split/conflicting-first-part", "split/same-id-two-servers"},
	"SPL-05":  {"split/size-field-contradicts", "split/source-two-parts"},
	"SPL-06":  {"hostile/crc-lies", "split/source-compressed-two-parts"},
	"SPL-07":  {"net/fragmented-ipv4", "split/source-two-parts"},
	"SPL-08":  {"hostile/bzip2-bomb-honest", "split/source-old-compressed-80-rules"},
	"SPL-09":  {"split/to-server", "split/source-two-parts"},
	"SPL-10":  {"split/total-zero", "split/one-part"},
	"SPL-11":  {"split/source-old-compressed-randomised", "split/source-old-compressed"},
}

// damaged stands before a capture in which the header of the third packet is overwritten.
const damaged = "damaged "

// severalClients stands before captures of several clients, which are compared.
const severalClients = "vantages: "

// TestCodesShown: every finding that can be listed is raised by one capture, and not by another
// one that is near it.
func TestCodesShown(t *testing.T) {
	t.Parallel()
	reg := protocols.NewRegistry()
	for _, c := range listCodes(reg) {
		by, ok := shownBy[c.ID]
		if !ok {
			t.Errorf("%s: no capture is named that raises it", c.ID)
			continue
		}
		if !strings.Contains(findingsOf(t, by.raises), " "+c.ID+" ") {
			t.Errorf("%s is not raised by %s", c.ID, by.raises)
		}
		if strings.Contains(findingsOf(t, by.near), " "+c.ID+" ") {
			t.Errorf("%s is raised by %s", c.ID, by.near)
		}
	}
	if got, want := len(shownBy), len(listCodes(reg)); got > want {
		t.Errorf("captures are named for %d findings, and there are %d", got, want)
	}
}

// findingsOf returns what qsniff findings prints of a capture in the repository, or qsniff vantages of several.
func findingsOf(t *testing.T, name string) string {
	if names, ok := strings.CutPrefix(name, severalClients); ok {
		args := []string{"vantages", "-o", "json"}
		for _, name := range strings.Fields(names) {
			args = append(args, filepath.Join(module, "pcapfiles", filepath.FromSlash(name)+".pcap"))
		}
		out, errs, status := output(t, args...)
		if status != exitOK {
			t.Errorf("%s: exit status %d: %s", name, status, errs)
		}
		return strings.ReplaceAll(out, `"`, " ")
	}
	name, isDamaged := strings.CutPrefix(name, damaged)
	path := filepath.Join(module, "pcapfiles", filepath.FromSlash(name)+".pcap")
	if isDamaged {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		at := 24 // the file's header; 16 bytes of header before each packet, whose length is in the third word
		for range 2 {
			at += 16 + int(binary.LittleEndian.Uint32(b[at+8:]))
		}
		copy(b[at:], bytes.Repeat([]byte{0xff}, 16))
		path = filepath.Join(t.TempDir(), "damaged.pcap")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, errs, status := output(t, "findings", path)
	if status != exitOK && !isDamaged {
		t.Errorf("%s: exit status %d: %s", name, status, errs)
	}
	return out
}
