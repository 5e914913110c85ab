package hub

import "time"

const (
	// LeaseTime is for how long the key of the leader must not change until another hub takes it.
	// Chosen: longer than the restart of a broker, shorter than a window with its lateness.
	LeaseTime = 10 * time.Second
	// renewals is how often the leader renews it in that time.
	renewals = 5
	// lookEvery is how often the others look.
	lookEvery = time.Second

	// roundEvery is how often the leader looks for messages. Chosen: as often as anybody looks at the
	// page; campaigns change by windows of ten seconds.
	roundEvery = 500 * time.Millisecond
	// roundMessages is how many messages a round has at most: after a break the state is written now and
	// then. Chosen: 150 MB of the largest usual messages, which take a second.
	roundMessages = 20_000
	// stateEvery is how often the state is written where no event demands it. Chosen: what is read twice
	// after a takeover is no more than a window.
	stateEvery = 10 * time.Second

	// shardSize is how many bytes a value of the bucket has. Chosen: half of what brokers take by default.
	shardSize = 512 << 10
	// keptAside is how many states that could not be read are kept aside; the next replaces the oldest. Chosen: the
	// one that is asked about, and one more.
	keptAside = 2
	// mostState is how large a state may be once it is unpacked. Chosen: 50,000 servers at 5 KiB.
	mostState = 256 << 20

	// markTime is how long marks stay. Chosen: longer than any machine is paused and comes back.
	markTime = 48 * time.Hour
	// mostPending is how many events wait until their Notes are delivered. Chosen: those of a day in which
	// a service is away and each minute has two; of more, the oldest count as delivered.
	mostPending = 2048

	// mostRefusers is how many pairs of a sensor and a reason have a counter; the rest are counted
	// as of other. Chosen: whoever can publish may invent names.
	mostRefusers = 512

	// duplicates is for how long the broker recognises a message that it has had by its id. Chosen: that of NATS; a sensor
	// sends again what it has no ack for after seconds, and the engine holds the numbers of the rest.
	duplicates = 2 * time.Minute

	// headRoom is what a message of a stream has besides its body: the headers with its id and time.
	headRoom = 4 << 10

	// eventsLonger is how many times as long events and campaigns are kept as counts are, eventsSmaller and
	// campaignsSmaller what part of the size of counts each of the two may take. Chosen: incidents of a year are less than
	// counts of a day, but one sensor shall have room for those of days in half of it.
	eventsLonger     = 10
	eventsSmaller    = 4
	campaignsSmaller = 10

	// A stream that is full to trimFrom of its size loses its oldest messages that were read, down to trimTo, in eighths.
	// Chosen: what is between is seconds of a sensor that sends as fast as it can.
	trimFrom, trimTo, trimOf = 7, 6, 8

	// clockStep is by how much the broker's clock must be set at once to be noticed. Chosen: as much as a sensor's clock
	// may be off, and longer than a request takes.
	clockStep = time.Minute

	// requestTime is how long a request to the broker may take. Chosen: less than the lease.
	requestTime = 5 * time.Second
	// messageWait is how long a message may take that the broker lists. Chosen: a broker that
	// restarts is there again.
	messageWait = 5 * time.Second

	// retryWait is how long a hub rests after an error before it tries to lead again.
	retryWait = time.Second

	// viewEvery is how often what readers see is made anew. Chosen: the lists of 10,000 sensors take a
	// millisecond.
	viewEvery = time.Second
	// streamsEvery is how often the broker is asked how large the streams are.
	streamsEvery = 10 * time.Second

	// settleWait is how long a hub that ends waits for the report that its Notes were delivered, and
	// settleStep how often it looks. Chosen: the messenger process reports once a second.
	settleWait = 3 * time.Second
	settleStep = 20 * time.Millisecond

	// mostText is how many bytes the text of a note has. Chosen: what a service takes.
	mostText = 1500

	// purgeTime is for how long the broker remembers that a value was removed. Chosen: those that read
	// the state meanwhile see that it is gone, and read the new one.
	purgeTime = time.Minute
)
