package child

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// orders are what the child is to do.
type orders struct {
	Say  string
	Fail bool
}

func TestMain(m *testing.M) {
	Main(m, func(o orders) error {
		fmt.Println(o.Say, os.Getpid(), os.Getenv("QSNIFF_TEST_WORD"))
		AwaitParent()
		if o.Fail {
			return errors.New("as it was told")
		}
		return nil
	})
}

func TestEnd(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   orders
		want int
	}{
		{"well", orders{Say: "one two"}, 0},
		{"failed", orders{Say: "three", Fail: true}, 1},
	} {
		p, line := Start(t, tc.in, "QSNIFF_TEST_WORD=word")
		if want := fmt.Sprint(tc.in.Say, " ", p.PID(), " word"); line != want {
			t.Errorf("%s: line\ngot  %q\nwant %q", tc.name, line, want)
		}
		got := 0
		err := p.End()
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			got = exit.ExitCode()
		} else if err != nil {
			t.Error(err)
		}
		if got != tc.want {
			t.Errorf("%s: status\ngot  %d\nwant %d", tc.name, got, tc.want)
		}
	}
}

func TestKill(t *testing.T) {
	p, _ := Start(t, orders{Say: "here"})
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if p.cmd.ProcessState == nil || p.cmd.ProcessState.Success() {
		t.Errorf("the child ended with %v", p.cmd.ProcessState)
	}
}
