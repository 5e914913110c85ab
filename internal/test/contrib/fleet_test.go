package contrib

import (
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"qsniff/internal/test/binary"
)

// fleetCommand is a command of a container: which program, with which arguments, and the folders that it sees.
type fleetCommand struct {
	where, program string
	args           []string
	mounts         []string
	ports          []int // that other parts of the file expect it to listen on
}

// programs are the programs in images, by the names of these.
var programs = map[string]string{"qsniff": "qsniff", "qsniff-hub": "qsniff-hub", "": "mkpcap"}

// TestFleetFiles: what the Compose file and the manifests run has flags that there are, and files and folders
// that the container has.
func TestFleetFiles(t *testing.T) {
	t.Parallel()
	all := append(composeFleet(t), kubernetesFleet(t)...)
	if len(all) != 8 {
		t.Errorf("%d commands were found", len(all))
	}
	help := map[string]string{}
	for _, c := range all {
		command := c.args[0]
		key := c.program + " " + command
		if help[key] == "" {
			// mkpcap prints its flags where it does not understand others.
			out, _ := exec.Command(binary.Program(t, c.program), command, "--help").CombinedOutput()
			help[key] = string(out)
		}
		for _, a := range c.args[1:] {
			name, value, hasValue := strings.Cut(a, "=")
			if strings.HasPrefix(a, "-") && !regexp.MustCompile(`(?m)^ +(?:-\w, +)?`+regexp.QuoteMeta(name)+`\b`).MatchString(help[key]) {
				t.Errorf("%s: %s has no flag %s:\n%s", c.where, key, name, help[key])
			}
			if !hasValue {
				value = a
			}
			if strings.HasPrefix(value, "/") && !slices.ContainsFunc(c.mounts, func(m string) bool { return value == m || strings.HasPrefix(value, m+"/") }) {
				t.Errorf("%s: %s is in no folder of %v", c.where, value, c.mounts)
			}
		}
		for _, port := range c.ports {
			if !slices.ContainsFunc(c.args, func(a string) bool { return regexp.MustCompile(`listen=.*:\d+$`).MatchString(a) && portOf(a) == port }) {
				t.Errorf("%s: nothing listens on %d", c.where, port)
			}
		}
	}
}

// portOf returns the port at the end of a text, 0 without one.
func portOf(text string) int {
	at, err := netip.ParseAddrPort("0.0.0.0:" + text[strings.LastIndexByte(text, ':')+1:])
	if err != nil {
		return 0
	}
	return int(at.Port())
}

// composeFleet returns the commands of the Compose file, whose files must be there.
func composeFleet(t *testing.T) (all []fleetCommand) {
	t.Helper()
	var file struct {
		Services map[string]struct {
			service `yaml:",inline"`
			Secrets []string
			Tmpfs   []string
		}
		Secrets map[string]struct{ File string }
		Volumes map[string]any
	}
	parse(t, "fleet/compose.yaml", &file)
	for _, name := range slices.Sorted(maps.Keys(file.Services)) {
		s := file.Services[name]
		dockerfile := filepath.Join(folder, "fleet", s.Build.Context, s.Build.Dockerfile)
		mustExist(t, dockerfile)
		c := fleetCommand{where: "compose.yaml: " + name, program: programs[s.Image], args: s.Command}
		if text, err := os.ReadFile(dockerfile); err != nil || !strings.Contains(string(text), `ENTRYPOINT ["/`+c.program+`"]`) {
			t.Errorf("%s: the image does not start %s: %v", c.where, c.program, err)
		}
		for _, v := range s.Volumes {
			f := strings.Split(v, ":")
			c.mounts = append(c.mounts, f[1])
			if _, isNamed := file.Volumes[f[0]]; !isNamed {
				t.Errorf("%s: there is no volume %s", c.where, f[0])
			}
		}
		for _, secret := range s.Secrets {
			c.mounts = append(c.mounts, "/run/secrets/"+secret)
			if file.Secrets[secret].File == "" {
				t.Errorf("%s: there is no secret %s", c.where, secret)
			}
		}
		for _, m := range s.Tmpfs {
			path, _, _ := strings.Cut(m, ":")
			c.mounts = append(c.mounts, path)
		}
		if strings.Join(s.CapDrop, " ") != "ALL" || len(s.CapAdd) > 0 {
			t.Errorf("%s has rights: drops %v, adds %v", c.where, s.CapDrop, s.CapAdd)
		}
		all = append(all, c)
	}
	return all
}

// manifest is a part of a file for Kubernetes, as far as programs and what they listen on go.
type manifest struct {
	Kind string
	Spec struct {
		Ports    []struct{ Port int } // of a Service
		Ingress  []struct{ Ports []struct{ Port int } }
		Template struct {
			Spec struct {
				Containers []struct {
					Image        string
					Args         []string
					Ports        []struct{ ContainerPort int }
					VolumeMounts []struct {
						Name      string
						MountPath string `yaml:"mountPath"`
					} `yaml:"volumeMounts"`
				}
				Volumes []struct{ Name string }
			}
		}
	}
}

// kubernetesFleet returns the commands of the manifests.
func kubernetesFleet(t *testing.T) (all []fleetCommand) {
	t.Helper()
	for _, name := range []string{"sensor.yaml", "hub.yaml"} {
		var ports []int
		var c fleetCommand
		d := yaml.NewDecoder(strings.NewReader(read(t, "kubernetes/"+name)))
		for {
			var m manifest
			if d.Decode(&m) != nil { // the last one was read; fewer commands than there are fail the test
				break
			}
			for _, p := range m.Spec.Ports {
				ports = append(ports, p.Port)
			}
			for _, i := range m.Spec.Ingress {
				ports = append(ports, i.Ports[0].Port)
			}
			for _, x := range m.Spec.Template.Spec.Containers {
				image, _, _ := strings.Cut(filepath.Base(x.Image), ":")
				c = fleetCommand{where: name, program: programs[image], args: x.Args}
				for _, v := range x.VolumeMounts {
					c.mounts = append(c.mounts, v.MountPath)
					if !slices.ContainsFunc(m.Spec.Template.Spec.Volumes, func(have struct{ Name string }) bool { return have.Name == v.Name }) {
						t.Errorf("%s: there is no volume %s", name, v.Name)
					}
				}
			}
		}
		if c.args == nil {
			t.Fatalf("%s: no container was found", name)
		}
		c.ports = ports
		all = append(all, c)
	}
	return all
}

// fleetPatience is how long three processes may take to read two minutes of packets, and the hub to wait for what
// comes late. Chosen: a hundred times what they take on an idle machine.
const fleetPatience = 5 * time.Minute
