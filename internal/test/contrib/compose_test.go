package contrib

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// service is a service of the Compose file.
type service struct {
	Image   string
	Build   struct{ Context, Dockerfile string }
	Command []string
	Volumes []string
	CapDrop []string `yaml:"cap_drop"`
	CapAdd  []string `yaml:"cap_add"`
}

// isPinned matches images of one version, and not the newest one of some.
var isPinned = regexp.MustCompile(`^[a-z/]+:v?\d+\.\d+\.\d+$`)

// TestCompose: the Compose file names files that are there and images of one version, and what runs in
// the containers finds these files where it looks.
func TestCompose(t *testing.T) {
	var file struct {
		Services map[string]service
		Volumes  map[string]any
	}
	parse(t, "compose.yaml", &file)
	targets := map[string]bool{}
	for name, s := range file.Services {
		if s.Image == "" {
			mustExist(t, filepath.Join(folder, s.Build.Context, s.Build.Dockerfile))
		} else if !isPinned.MatchString(s.Image) {
			t.Errorf("%s: the image %s is of no one version", name, s.Image)
		}
		for _, v := range s.Volumes {
			f := strings.Split(v, ":")
			targets[name+":"+f[1]] = true
			if _, isNamed := file.Volumes[f[0]]; !isNamed {
				mustExist(t, filepath.Join(folder, f[0]))
			}
		}
	}
	var provider struct {
		Providers []struct{ Options struct{ Path string } }
	}
	parse(t, "grafana/provisioning/dashboards/qsniff.yml", &provider)
	var scrape struct {
		RuleFiles     []string `yaml:"rule_files"`
		ScrapeConfigs []struct {
			StaticConfigs []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	parse(t, "prometheus/prometheus.yml", &scrape)
	config := regexp.MustCompile(`"monitor", "--config", "(.*)"`).FindStringSubmatch(read(t, "Dockerfile"))
	for _, want := range []string{
		"grafana:" + provider.Providers[0].Options.Path + "/dashboard.json",
		"grafana:/etc/grafana/provisioning",
		"prometheus:/etc/prometheus/" + scrape.RuleFiles[0],
		strings.Replace(file.Services["prometheus"].Command[0], "--config.file=", "prometheus:", 1),
		"qsniff:" + config[1],
	} {
		if !targets[want] {
			t.Errorf("%s is not mounted", want)
		}
	}
	if q := file.Services["qsniff"]; strings.Join(q.CapDrop, " ") != "ALL" || strings.Join(q.CapAdd, " ") != "NET_RAW" {
		t.Errorf("qsniff has other rights than NET_RAW: drops %v, adds %v", q.CapDrop, q.CapAdd)
	}
	if listen := `listen = "` + scrape.ScrapeConfigs[0].StaticConfigs[0].Targets[0] + `"`; !strings.Contains(read(t, "monitor.toml"), listen) {
		t.Errorf("monitor.toml has no %s", listen)
	}
}

func parse(t *testing.T, name string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(read(t, name)), into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func mustExist(t *testing.T, name string) {
	t.Helper()
	if _, err := os.Stat(name); err != nil {
		t.Error(err)
	}
}
