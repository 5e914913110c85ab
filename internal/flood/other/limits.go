package other

// Sizes at the usual budget: 2.4 MiB from the first packets on, 3.4 MiB with all hosts that
// there is room for and all that is counted of their sources.
const (
	// knownHosts is how many hosts with servers are known: the one that was asked longest
	// ago makes room.
	knownHosts = 8192
	// markBits is the logarithm of the number of bits that say of a host, without a search,
	// that it is not known: eight for each that can be.
	markBits = 16
	// cachePlaces is how many of the hosts looked up last are found without a search.
	cachePlaces = 1024
	// heavyHosts is how many are watched closely, 12 KiB each. The one that was quiet
	// longest makes room, never one with an open incident.
	heavyHosts = 64
	// promote is how many packets a second that are no query and of no session make a host
	// worth watching closely: half of what the smallest flood has.
	promote = 50
	// sessionBytes is the size of each of two filters that hold whom hosts sent something in
	// the last sessionTurn to two of these: a thousand players take a thousandth of it, the
	// answers to 20,000 forged packets a second a quarter.
	sessionBytes = 512 << 10
	// sessionTurn, in seconds: a server that changes maps is silent for ten, and its
	// players go on.
	sessionTurn = 30
	// handshakeBytes is the size of each of two filters for half of a TCP handshake, and
	// handshakeTurn, in seconds, how long they keep it at least: the kernel repeats its half
	// for as long.
	handshakeBytes = 64 << 10
	handshakeTurn  = 15
	// fragmentPlaces is for how many fragmented datagrams it is remembered what they are; a
	// newer one takes the place of an older one, and is taken for it for fragmentFor seconds
	// at most, in which Linux gives up a datagram.
	fragmentPlaces = 1 << 12
	fragmentFor    = 30
	// views is for how many classes of hosts sources are counted at a time, 8 KiB each;
	// where all are in use, the number of sources is unknown.
	views = 32
	// topSources is how many sources of one of them are told apart.
	topSources = 64
	// maxClasses bounds the classes, those of other games included.
	maxClasses = 64
)
