package measure

// names are what features are called where they leave the program, as columns do: they stay.
var names = [NumFeatures]string{
	RateNow: "rate_now", Rate10: "rate_10s", Rate60: "rate_60s", Base: "base_rate", Sources: "sources", Sites: "sites", Each: "queries_each",
	Top1: "top1_share", Top8: "top8_share", Top16: "top16_share", Biggest: "biggest_rate", Prefix: "prefix_share", Repeat: "repeat_share",
	Heavy: "heavy_share", Proven: "proven_share", Completion: "completion_share", Challenged: "challenged_sources", Answered: "answered_ratio",
	Gain: "gain_ratio", Alien: "alien_share", TTL1: "ttl1_share", TTLX: "ttl_odd_share", Low: "low_port_share", Port1: "port1_share",
	Print1: "payload1_share", Unreach: "unreachable_share", Pace: "pace",

	Rate3: "rate_3s", Window: "window_seconds", OneWay: "one_way", TTL: "ttl", Port: "port", BiggestCount: "biggest_count",
	BiggestPorts: "biggest_ports", BiggestPortsEach: "biggest_ports_each", BiggestProven: "biggest_proven", BiggestNAT: "biggest_nat",
	TopProven: "top_proven_share", Lead: "lead_rate", LeadProven: "lead_proven_rate", Hot: "hot_share", HotRate: "hot_rate",
	HeavyCount: "heavy_count", RepeatCount: "repeat_count", RepeatTTL: "repeat_ttl_share", PortsEach: "ports_each", Push: "push_rate",
	PrefixHosts: "prefix_hosts", PrefixProven: "prefix_proven_share", PrefixRate: "prefix_rate", Stubborn: "stubborn_share",
	StubbornCount: "stubborn_count", Echoed: "echoed_share", ChallengedShare: "challenged_share", EchoLike: "echo_like_share",
	EachRate: "each_rate", SiteShare: "site_share", Refusing: "refusing", GainTop: "gain_top_ratio", WindowQueries: "window_queries",
	PortQueries: "port_queries", PrintQueries: "payload_queries", JunkNow: "junk_now", JunkMean: "junk_mean",
	JunkShareNow: "junk_share_now", JunkShareMean: "junk_share_mean", GuessesNow: "guesses_now", Guesses3: "guesses_3s",
	GuessShare3: "guess_share_3s", Guesses10: "guesses_10s", GuessShare10: "guess_share_10s", NetServers: "net_servers", NetBusiest: "net_busiest_share",
}

// Name returns what a feature is called in exports. Meanings has the short names that incidents show.
func (f Feature) Name() string { return names[f] }
