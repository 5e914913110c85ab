package replay

// What is kept of a capture.
const (
	// maxServers is how many servers of a capture are looked at. Chosen: more than a capture of
	// a hoster's network has; --server names the one of others.
	maxServers = 4096
	// maxKinds is how many different requests are kept of one type to one server. Chosen: more
	// pages than a list of all servers of a game has, and more commands than anybody types.
	maxKinds = 1024
	// maxText is how much of different requests is kept in all, in bytes.
	maxText = 16 << 20
	// maxPending is how many requests wait for their replies. Chosen: more than come within
	// the seconds that a reply takes, outside of floods.
	maxPending = 1 << 16
	// maxParts is how many messages a reply over TCP may have. Chosen: a thousand packets of
	// 4 KB are more than any console prints.
	maxParts = 1024
	// maxReplies is how many bytes of replies over TCP, and of datagrams, are kept.
	maxReplies = 64 << 20
	// fragmentBytes is the memory for fragments of IP.
	fragmentBytes = 4 << 20
)

// maxRequest is the longest request over TCP in bytes. Chosen: consoles take 4 KB.
const maxRequest = 64 << 10
