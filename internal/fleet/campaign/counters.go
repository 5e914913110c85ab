package campaign

// Counters are what an engine counted since its state began. What is refused by a limit is in one of them.
type Counters struct {
	Messages   uint64 `json:"messages"`   // taken
	Duplicates uint64 `json:"duplicates"` // messages that had come before
	Lost       uint64 `json:"lost"`       // numbers that never came
	TooEarly   uint64 `json:"too_early"`  // messages about more than maxEarly in the future
	TooLate    uint64 `json:"too_late"`   // messages about more than maxLate ago
	Late       uint64 `json:"late"`       // messages about a window that was closed, which are judged apart
	Repeated   uint64 `json:"repeated"`   // messages about a server that the window had one of
	Corrected  uint64 `json:"corrected"`  // messages with figures that cannot be
	Windows    uint64 `json:"windows"`    // closed, the late ones included

	SensorsRefused   uint64 `json:"sensors_refused"` // messages of sensors beyond maxSensors
	SensorsEvicted   uint64 `json:"sensors_evicted"` // silent for expireAfter, or replaced by a new one
	ServersRefused   uint64 `json:"servers_refused"` // messages of servers beyond maxServers
	ServersEvicted   uint64 `json:"servers_evicted"`
	RecordsRefused   uint64 `json:"records_refused"`   // raised servers beyond maxRecords: not judged with the others
	WindowsHurried   uint64 `json:"windows_hurried"`   // late ones closed early, as more than manyWindows were open
	WindowsRefused   uint64 `json:"windows_refused"`   // messages of windows beyond maxWindows, or sensorWindows of one
	IncidentsRefused uint64 `json:"incidents_refused"` // beyond maxIncidents, or sensorIncidents of one
	Uncompared       uint64 `json:"uncompared"`        // pairs of incidents beyond maxCompared
	CampaignsRefused uint64 `json:"campaigns_refused"` // beyond maxCampaigns
	MembersRefused   uint64 `json:"members_refused"`   // beyond maxMembers of a campaign

	Campaigns uint64 `json:"campaigns"` // opened
	Events    uint64 `json:"events"`
	// What is held now.
	Sensors       int    `json:"sensors"`
	Silent        int    `json:"sensors_silent"`
	Skewed        int    `json:"sensors_skewed"`
	Servers       int    `json:"servers"`
	Unheard       int    `json:"servers_unheard"`
	OpenWindows   int    `json:"windows_open"`
	Records       int    `json:"records"` // raised servers with sketches
	Incidents     int    `json:"incidents"`
	OpenCampaigns int    `json:"campaigns_open"`
	MissingNow    uint64 `json:"missing"` // numbers that have not come yet
}

// Counters returns what was counted since the state began.
func (e *Engine) Counters() Counters {
	st := &e.state
	c := st.Counters
	c.Sensors, c.OpenWindows, c.Records = len(st.Sensors), len(st.Windows)+len(st.LateWindows), e.records
	c.Incidents, c.OpenCampaigns = len(st.Incidents)+len(st.Pending), len(st.Courses)
	for _, s := range e.Sensors() {
		c.Lost, c.MissingNow = addUp(c.Lost, s.Lost), addUp(c.MissingNow, s.Missing)
		c.Servers, c.Unheard = c.Servers+s.Servers, c.Unheard+s.Unheard
		if s.Silent {
			c.Silent++
		}
		if s.HasSkew {
			c.Skewed++
		}
	}
	return c
}
