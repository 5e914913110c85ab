package cli

import (
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// Build describes how a program was built.
type Build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"` // of the revision
	Modified bool   `json:"modified"`       // sources differ from the revision
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// ReadBuild returns the description of this program. packaged is the version of sources that come without git, as those that
// packagers download do; empty: there is none.
func ReadBuild(packaged string) Build {
	b := Build{Version: "(unknown)", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.setVersion(info.Main.Version, packaged)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// Unversioned is what Go calls the version of sources that have none; it adds dirty to one of changed sources.
const (
	Unversioned = "(devel)"
	dirty       = "+dirty"
)

// madeUp is the form of the versions that Go makes for a commit without a tag: of a version before or after
// it, its time and the begin of its hash.
var madeUp = regexp.MustCompile(`^v\d+\.\d+\.\d+-(?:.+\.)?(\d{14})-([0-9a-f]{12})(?:\+.*)?$`)

// setVersion sets Version and what Go has put into it: the only place of a revision in a build of
// go install MODULE/cmd/qsniff@REVISION.
func (b *Build) setVersion(v, packaged string) {
	if v == Unversioned && packaged != "" {
		v = packaged
	}
	b.Version, b.Modified = v, strings.HasSuffix(v, dirty)
	if m := madeUp.FindStringSubmatch(v); m != nil {
		if at, err := time.Parse("20060102150405", m[1]); err == nil {
			b.Revision, b.Time = m[2], at.Format(time.RFC3339)
		}
	}
}

// Short returns the tag that the program was built from, or the commit if it has none.
func (b *Build) Short() string {
	name := strings.TrimSuffix(b.Version, dirty)
	switch {
	case name != Unversioned && !madeUp.MatchString(name):
	case b.Revision == "":
		return "of an unknown revision"
	default:
		name = b.Revision[:min(12, len(b.Revision))]
	}
	if b.Modified {
		name += ", changed since"
	}
	return name
}
