package metrics

import (
	"encoding/json"
	"net/http"
	"time"

	"qsniff/internal/monitor"
)

// listedServer is a server in /servers.json. Its name and map are text of the network: JSON
// quotes it, and a page that shows it has to escape it.
type listedServer struct {
	Server     string     `json:"server"`
	Name       string     `json:"name,omitempty"`
	Map        string     `json:"map,omitempty"`
	Players    *int32     `json:"players,omitempty"`
	Max        *int32     `json:"max_players,omitempty"`
	Bots       *int32     `json:"bots,omitempty"`
	Queue      *int32     `json:"queue,omitempty"`
	Version    string     `json:"version,omitempty"`
	Tags       string     `json:"tags,omitempty"`
	LastAsked  *time.Time `json:"last_request,omitempty"`
	LastAnswer *time.Time `json:"last_reply,omitempty"`
	Requests   float64    `json:"requests_per_second"`
	Answers    float64    `json:"replies_per_second"`
}

// NewServersHandler returns what answers /servers.json: the servers with counters of their own.
func NewServersHandler(m *monitor.Meter) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, _ := m.Snapshot(r.Context())
		list := make([]listedServer, len(s.Servers))
		for i := range s.Servers {
			list[i] = listServer(&s.Servers[i])
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(struct {
			Schema  int            `json:"schema"`
			Servers []listedServer `json:"servers"`
		}{1, list}) // a reader that is gone does not want it
	})
}

// listServer describes a server.
func listServer(s *monitor.Server) listedServer {
	p := &s.Profile
	return listedServer{
		Server:     s.Label(),
		Name:       string(p.Name.Whole()),
		Map:        string(p.Map.Whole()),
		Players:    known(p.Players),
		Max:        known(p.Max),
		Bots:       known(p.Bots),
		Queue:      known(p.Queue),
		Version:    string(p.Version.Whole()),
		Tags:       string(p.Tags.Whole()),
		LastAsked:  timeOf(s.LastSeen),
		LastAnswer: timeOf(s.LastAnswer),
		Requests:   s.Requests,
		Answers:    s.Answers,
	}
}

// known returns a count, nil if it is unknown.
func known(n int32) *int32 {
	if n < 0 {
		return nil
	}
	return &n
}

// timeOf returns the moment of Unix nanoseconds, nil if there is none.
func timeOf(nanos int64) *time.Time {
	if nanos == 0 {
		return nil
	}
	t := time.Unix(0, nanos).UTC()
	return &t
}
