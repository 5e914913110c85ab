package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// storeCheck is Lua that fills a table of 100 entries, in the plugin's own scope, while it uses one
// entry all the time.
const storeCheck = `
local store = newStore(100)
store.set("used", 0)
for i = 1, 1000 do
	store.set(i, i)
	assert(store.get("used") == 0, "an entry in use was dropped")
end
for i = 1, 900 do assert(not store.get(i), "an old entry stayed") end
for i = 960, 1000 do assert(store.get(i) == i, "a new entry was dropped") end
store.set("used", nil)
assert(store.get("used") == nil, "a removed entry stayed")
io.stderr:write("checked\n")
`

// TestPluginForgets checks that tables of the plugin stay at their limits, and drop what was used
// the longest time ago.
func TestPluginForgets(t *testing.T) {
	tshark := needTshark(t)
	plugin := writePlugin(t)
	text, err := os.ReadFile(plugin)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(plugin, append(text, storeCheck...), 0o644); err != nil {
		t.Fatal(err)
	}
	capture := filepath.Join(pcapfiles, "a2s", "asked-by-scanner.pcap")
	out, err := exec.Command(string(tshark), "-X", "lua_script:"+plugin, "-r", capture, "-c", "1").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "checked\n") {
		t.Errorf("%v: %s", err, out)
	}
}
