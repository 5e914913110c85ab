package dissect

// Names of values that several protocols of the family share, for Def.Values.

// HeaderName names the first four bytes of a message.
func HeaderName(v uint64) string {
	if int64(v) == -1 {
		return "one datagram"
	}
	return ""
}

// ServerTypeName names the letter for the kind of server that answers.
func ServerTypeName(v uint64) string {
	switch v | 0x20 {
	case 'd':
		return "dedicated"
	case 'l':
		return "listen, or not said"
	case 'p':
		return "SourceTV or HLTV proxy"
	}
	return ""
}

// EnvironmentName names the letter for the operating system of the server.
func EnvironmentName(v uint64) string {
	switch v | 0x20 {
	case 'l':
		return "Linux"
	case 'w':
		return "Windows"
	case 'm', 'o':
		return "macOS"
	}
	return ""
}

// VisibilityName names the byte for whether a password is needed.
func VisibilityName(v uint64) string {
	switch v {
	case 0:
		return "public"
	case 1:
		return "password"
	}
	return ""
}

// SecuredName names the byte for whether Valve Anti-Cheat is on.
func SecuredName(v uint64) string {
	switch v {
	case 0:
		return "not secured"
	case 1:
		return "secured by VAC"
	}
	return ""
}
