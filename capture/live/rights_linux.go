package live

// RightsHint returns the command that gives this program the right to capture.
func RightsHint() string {
	return "sudo setcap cap_net_raw+ep " + shellWord(programPath()) +
		"; in a systemd unit: AmbientCapabilities=CAP_NET_RAW and CapabilityBoundingSet=CAP_NET_RAW"
}
