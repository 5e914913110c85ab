// Package promises holds what docs/fleet.md says that nobody can do, and what SECURITY.md promises, to tests: each
// sentence names those that fail when it is untrue. A sentence without a test, and a test that is not there, are errors.
package promises

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../../.."

// promise is a sentence, or a part of one, and the tests that hold it.
type promise struct {
	text  string
	tests []string // folder.Test
}

// threats are the second column of the threat model, by the first.
var threats = map[string][]promise{
	"a stolen sensor: its credentials, and the secret of the fleet": {
		{"publish as another sensor", []string{"internal/fleet/hub/broker.TestCredentials", "internal/fleet/hub/broker.TestOwnBroker"}},
		{"read what any has published", []string{"internal/fleet/hub/broker.TestCredentials"}},
		{"change a stream, the state or the lease of hubs", []string{"internal/fleet/hub/broker.TestStolenSensor", "internal/fleet/hub/broker.TestOwnBroker"}},
		{"stop a hub", []string{"internal/fleet/hub.TestUnreadableState", "internal/fleet/hub.TestRefused", "internal/fleet/campaign.FuzzEngine"}},
		{"reach the hub's page", []string{"internal/monitor/serve.TestToken", "internal/monitor/serve.TestWide"}},
	},
	"a lying sensor": {
		{"make a carpet by itself: that takes two sensors, and one that has more than half of all is judged apart", []string{"internal/fleet/campaign.TestStandouts", "internal/fleet/campaign.TestLiar"}},
		{"move the clock of others", []string{"internal/fleet/campaign.TestLiar"}},
		{"fill the hub: servers, windows and incidents of each are bounded", []string{"internal/fleet/campaign.TestMemory", "internal/fleet/campaign.TestLimits", "internal/fleet/campaign.TestIncidentLimit"}},
	},
	"a flooding sensor": {
		{"stop the hub from judging others for want of memory", []string{"internal/fleet/campaign.TestMemory"}},
		{"displace what others sent and no hub has read", []string{"internal/fleet/hub.TestFloodDisplacesNothing", "internal/fleet/hub.TestTrim"}},
		{"take more than half of a stream, or send a message longer than a sensor makes", []string{"internal/fleet/hub.TestFloodDisplacesNothing", "internal/fleet.TestParseRefuses"}},
	},
	"a stolen hub: `_hub.creds` and the secret": {
		{"make or sign credentials: the keys for that are not on it", []string{"internal/fleet/hub/broker.TestHubFile"}},
	},
	"who runs the broker": {
		{"decrypt addresses or test for them, without the secret", []string{"internal/fleet/sensor.TestSealed", "internal/fleet.TestSecret"}},
	},
	"the wire, with `tls://`": {
		{"read or change anything", []string{"internal/fleet/outbox.TestCredentials", "internal/fleet/outbox.TestNKey"}},
	},
	"the wire, with `nats://`": {
		{"use the credentials again: their key signs a challenge, and is not sent", []string{"internal/fleet/outbox.TestSeedIsNotSent"}},
	},
	"who attacks game servers": {
		{"make messages longer or more", []string{"internal/fleet/sensor.TestFlat", "internal/fleet/sensor.TestWindowBytes", "internal/fleet.TestFixedSize"}},
		{"put text where it is run: names are escaped, and bounded to 256 bytes", []string{"internal/fleet/hub/web.TestPage", "internal/fleet/sensor.FuzzSensor"}},
	},
	"a reader of the page with its token": {
		{"change anything", []string{"internal/monitor/serve.TestReadOnly"}},
	},
}

// security are the sentences of what SECURITY.md promises, in its order, by what they begin with.
var security = []promise{
	{"No crash.", []string{"cmd/qsniff.TestMutants", "capture/file.FuzzReader", "capture/packet.FuzzDecode", "dissect/a2s.FuzzDissect"}},
	{"An input that makes the program panic or hang", []string{"cmd/qsniff.TestMutants", "capture/file.TestReaderThatHangs"}},
	{"Decoders read with a cursor", []string{"internal/test/deptest.TestPayloadIsReadWithACursor", "dissect.TestCursorFails", "capture/file.FuzzReader", "reassembly/split.FuzzAdd"}},

	{"Bounded memory and time.", []string{"cmd/qsniff.TestMemory", "internal/flood.TestMemory", "cmd/qsniff.TestSteady"}},
	{"What a packet or a file claims never decides", []string{"capture/file.TestLengthsAllocateNothing", "cmd/qsniff.TestMemory"}},
	{"Tables of what packets name have a limit", []string{"internal/base/lru.TestCapacityBounds", "internal/flood.TestMemory", "cmd/qsniff.TestCountedAndNamed"}},
	{"Keys cannot be chosen to collide", []string{"internal/base/lru.TestSeedsAreSecret", "internal/base/lru.TestSeedFoundOut"}},
	{"Compression bombs are refused", []string{"capture/file.TestBombs"}},
	{"[docs/limits.md]", []string{"internal/tools/docgen.TestLimits", "cmd/qsniff.TestDocs"}},

	{"Harmless output.", []string{"cmd/qsniff.TestHostileNames", "internal/app/payload.TestHostileText", "internal/app/top.TestHostile", "internal/app/browse.TestHostile"}},
	{"Text from the network is escaped", []string{"internal/base/display.TestAppendEscaped", "internal/base/display.TestVisible", "internal/render/csv.TestCells", "internal/fleet/messenger.TestSyslogHostile"}},

	{"Assistants read one folder.", []string{"internal/app/mcp.TestFolder"}},
	{"`qsniff mcp` opens regular files below it", []string{"internal/app/mcp.TestFolder", "cmd/qsniff.TestMCPWireText", "cmd/qsniff.TestMCPTools"}},
	{"What an assistant makes of such a text", nil},

	{"Hidden secrets.", []string{"cmd/qsniff.TestShowSecrets", "internal/render/jsonl.TestSecrets", "internal/pipeline/filter.TestSecrets"}},
	{"Passwords and log secrets are not printed", []string{"cmd/qsniff.TestMask", "cmd/qsniff.TestShowSecrets", "internal/base/console.FuzzFinder"}},
	{"[docs/safety.md](docs/safety.md) names the two", nil},
	{"Files of packets (`live -w`) keep every byte", []string{"cmd/qsniff.TestWrite"}},

	{"Few rights.", []string{"internal/base/sandbox.TestPacketSocket", "internal/base/sandbox.TestFiles", "internal/base/sandbox.TestPorts"}},
	{"Reading captures needs none", []string{"cmd/qsniff.TestGolden"}},
	{"`live` needs `cap_net_raw` until", []string{"capture/live.TestWithoutRights", "internal/base/sandbox.TestPacketSocket"}},
	{"Do not run qsniff as root", nil},

	{"No surprises on disk.", []string{"cmd/qsniff.TestForce", "capture/file.TestCreateOnlyFiles"}},
	{"`live -w` overwrites a file only", []string{"cmd/qsniff.TestForce", "capture/file.TestCreateOnlyFiles", "capture/file.TestCreate"}},

	{"Nothing is sent unless asked for.", []string{"internal/test/deptest.TestNetworkUse"}},
	{"No packet makes qsniff open a connection", []string{"internal/test/deptest.TestNetworkUse"}},
	{"It connects for", []string{"internal/test/deptest.TestNetworkUse"}},
	{"It listens for", []string{"internal/monitor/serve.TestWide", "cmd/qsniff.TestReplayForced", "cmd/qsniff.TestTZSP"}},
	{"Under systemd it tells the service manager", []string{"internal/base/systemd.TestNotify"}},
	{"A test lists the packages", []string{"internal/test/deptest.TestNetworkUse"}},

	{"Who tells sees no packet.", []string{"internal/fleet/messenger.TestRights"}},
	{"`--webhooks`, `--syslog`, `--journal` and `--fleet` are served", []string{"internal/fleet/messenger.TestServe", "internal/fleet/messenger.TestFleetRights"}},
	{"Its sandbox leaves it the ports", []string{"internal/base/sandbox.TestPorts", "internal/fleet/messenger.TestRights"}},
	{"The addresses of webhooks are secrets", []string{"internal/fleet/messenger.TestHookTrouble"}},
	{"Redirects are not followed", []string{"internal/fleet/messenger.TestHookRedirects", "internal/fleet/messenger.TestHookEndless"}},
	{"Names from the network are escaped for each service", []string{"internal/fleet/messenger.TestHostileNames"}},
	{"With `--fleet` what is sent are", []string{"internal/fleet/sensor.TestSealed", "internal/fleet/sensor.TestKinds"}},

	{"Programs", []string{"internal/fleet/messenger.TestProgram"}},
	{"of `--on-incident-exec` are started without a shell", []string{"internal/fleet/messenger.TestProgram", "internal/fleet/messenger.TestRights"}},

	{"Rules are yours to load.", []string{"internal/flood/rules/nft.TestLoad"}},
	{"Advice and `-o nft` only print", []string{"internal/test/deptest.TestStarters"}},
	{"What loaded rules drop is read by a process of its own", []string{"cmd/qsniff.TestRulesLoaded", "internal/base/sandbox.TestPrograms", "internal/test/deptest.TestStarters"}},
	{"It exists only where qsniff was started with `cap_net_admin`", []string{"internal/base/sandbox.TestPrograms"}},
	{"Addresses and ports are all", []string{"internal/flood/rules/nft.TestAppendFloods", "internal/flood/rules/iptables.TestAppendFloods"}},
}

// TestThreats: each part of what somebody cannot do has a test, and each row of the table a line here.
func TestThreats(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/fleet.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n## Threat model\n")
	table, _, _ = strings.Cut(table, "\n\nWhat stands under")
	separators := regexp.MustCompile(`^[,; ]*(and |or )?$`)
	rows := 0
	for _, line := range strings.Split(strings.TrimSpace(table), "\n") {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if len(cells) != 3 || strings.HasPrefix(cells[0], "---") || strings.TrimSpace(cells[0]) == "who" {
			continue
		}
		who, cannot := strings.TrimSpace(cells[0]), strings.TrimSpace(cells[1])
		if cannot == "" {
			continue
		}
		rows++
		rest := []string{cannot}
		for _, p := range threats[who] {
			var left []string
			isThere := false
			for _, part := range rest {
				before, after, found := strings.Cut(part, p.text)
				if !found || isThere {
					left = append(left, part)
					continue
				}
				isThere = true
				left = append(left, before, after)
			}
			if rest = left; !isThere {
				t.Errorf("%s: the page does not say %q", who, p.text)
			}
			checkTests(t, p.text, p.tests)
		}
		for _, part := range rest {
			if !separators.MatchString(part) {
				t.Errorf("%s: no test for %q", who, part)
			}
		}
	}
	if rows != len(threats) {
		t.Errorf("%d rows of the table, %d here", rows, len(threats))
	}
}

// TestSecurity: each sentence of what SECURITY.md promises has tests, or stands here as one that promises nothing.
func TestSecurity(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(page), "\n## What is promised\n")
	list, _, _ = strings.Cut(list, "\n## ")
	// A sentence ends with a full stop before a blank, a line break or the two asterisks of a heading.
	list = strings.NewReplacer("\n- ", "\x00", "**", "\x00").Replace(list)
	list = strings.Join(strings.Fields(list), " ")
	list = strings.ReplaceAll(list, ". ", ".\x00")
	next := 0
	for sentence := range strings.SplitSeq(list, "\x00") {
		sentence = strings.TrimSpace(sentence)
		if sentence == "" {
			continue
		}
		if next == len(security) || !strings.HasPrefix(sentence, security[next].text) {
			t.Fatalf("after %d sentences: %q is not here", next, sentence)
		}
		if p := security[next]; p.tests != nil {
			checkTests(t, p.text, p.tests)
		}
		next++
	}
	if next < len(security) {
		t.Errorf("%q is not on the page", security[next].text)
	}
}

// checkTests looks for tests in the source.
func checkTests(t *testing.T, text string, tests []string) {
	t.Helper()
	if len(tests) == 0 {
		t.Errorf("%q: no test", text)
	}
	for _, name := range tests {
		folder, function, _ := strings.Cut(name, ".")
		files, _ := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
		isThere := false
		for _, file := range files {
			src, err := os.ReadFile(file)
			isThere = isThere || err == nil && strings.Contains(string(src), "\nfunc "+function+"(")
		}
		if !isThere {
			t.Errorf("%q: there is no %s", text, name)
		}
	}
}
