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

// security are the promises of SECURITY.md, by what they begin with.
var security = map[string][]string{
	"No crash.":                         {"cmd/qsniff.TestMutants", "capture/file.FuzzReader", "capture/packet.FuzzDecode", "dissect/a2s.FuzzDissect"},
	"Bounded memory and time.":          {"cmd/qsniff.TestMemory", "capture/file.TestBombs", "internal/base/lru.TestSeedsAreSecret", "internal/flood.TestMemory"},
	"Harmless output.":                  {"cmd/qsniff.TestHostileNames", "internal/app/payload.TestHostileText", "internal/app/top.TestHostile"},
	"Assistants read one folder.":       {"internal/app/mcp.TestFolder"},
	"Hidden secrets.":                   {"cmd/qsniff.TestShowSecrets", "internal/render/jsonl.TestSecrets", "internal/pipeline/filter.TestSecrets"},
	"Few rights.":                       {"internal/base/sandbox.TestPacketSocket", "internal/base/sandbox.TestFiles", "internal/base/sandbox.TestPorts"},
	"No surprises on disk.":             {"cmd/qsniff.TestForce", "capture/file.TestCreateOnlyFiles"},
	"Nothing is sent unless asked for.": {"internal/test/deptest.TestNetworkUse"},
	"Who tells sees no packet.":         {"internal/fleet/messenger.TestRights", "internal/fleet/messenger.TestHookRedirects", "internal/fleet/messenger.TestHostileNames"},
	"Programs":                          {"internal/fleet/messenger.TestProgram"},
	"Rules are yours to load.":          {"internal/flood/rules/nft.TestAppendFloods", "internal/flood/rules/nft.TestLoad"},
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

// TestSecurity: each promise of SECURITY.md has tests.
func TestSecurity(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(page), "\n## What is promised\n")
	list, _, _ = strings.Cut(list, "\n## ")
	found := regexp.MustCompile(`(?m)^- \*\*([^*]+)\*\*`).FindAllStringSubmatch(list, -1)
	if len(found) != len(security) {
		t.Errorf("%d promises on the page, %d here", len(found), len(security))
	}
	for _, m := range found {
		checkTests(t, m[1], security[m[1]])
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
