package advice

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestToolsTakeAdvice gives every text to nft and to iptables-restore, which check
// it against the kernel and change nothing. It needs root, and asks in a network
// namespace of its own.
func TestToolsTakeAdvice(t *testing.T) {
	for _, x := range adviceExamples() {
		p := advisor.newPlan(&x.in)
		if p.numRules == 0 {
			continue
		}
		t.Run(x.name, func(t *testing.T) {
			t.Run("nft", func(t *testing.T) { toolTakes(t, p.NFTables(), "nft", "-c", "-f", "-") })
			t.Run("iptables", func(t *testing.T) {
				if !p.needsSent() {
					toolTakes(t, p.formatIPTables(), p.iptablesName()+"-restore", "-n", "--test")
					return
				}
				if _, err := exec.LookPath("ipset"); err != nil {
					t.Skip(noIPSet)
				}
				w := &iptWriter{plan: &p}
				toolTakes(t, p.formatIPTables(), "sh", "-ec", strings.Join(w.createSets(), "\n")+"\n"+p.iptablesName()+"-restore -n --test")
			})
		})
	}
}

// toolTakes runs a tool on a text where nothing of the host's network is.
func toolTakes(t *testing.T, text, tool string, args ...string) {
	t.Helper()
	cmd := aloneDo(t, tool, args...)
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s\n%s", tool, err, out, text)
	}
}

// aloneDo is a command in a network namespace of its own; the test is skipped where
// that cannot be had.
func aloneDo(t *testing.T, tool string, args ...string) *exec.Cmd {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root for a network namespace")
	}
	path, err := exec.LookPath(tool)
	if err != nil {
		t.Skipf("%s is not installed", tool)
	}
	try := exec.Command("true")
	try.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if err := try.Run(); err != nil {
		t.Skipf("no network namespace: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	return cmd
}
