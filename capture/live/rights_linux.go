package live

// RightsHint says how this program gets the right to capture.
func RightsHint() string {
	return "sudo setcap cap_net_raw+ep " + shellWord(program()) +
		"; in a systemd unit: AmbientCapabilities=CAP_NET_RAW and CapabilityBoundingSet=CAP_NET_RAW"
}
