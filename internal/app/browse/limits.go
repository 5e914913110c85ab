package browse

// maxEntries is how many messages can be listed, at 16 bytes each: 256 MB. Chosen: those of
// about 2 GB of the shortest queries, and a filter lists a part of more.
const maxEntries = 16_000_000

// chunkEntries is how many of them are allocated at a time. Chosen: 1 MiB.
const chunkEntries = 1 << 16

// markEvery is how many packets lie between two places from which the capture can be read
// again, of about 60 bytes each. Measured: 1,000 packets take 3 to 9 ms to read again.
const markEvery = 1024

// lookbacks are how many marks before a message, and before the first request of its exchange,
// reading again begins. Where that does not give the same reading as the first time, the next one
// is tried; the last is all. Measured on a mix of protocols at 50,000 packets/s: of 2,000 messages
// the first gave all but 9, in connections, and the second these.
var lookbacks = [...]int{2, 32, 512, 1 << 30}

// maxFindings is how many findings that belong to no message are kept as text, which reading
// again from the middle would not give. Chosen: they are summed up while a run goes on, and a
// capture has tens; at 1 KiB each they take 4 MiB.
const maxFindings = 4096

// maxCloned is how many bytes of messages are kept for the tree, of rows around the selected
// one. Chosen: hundreds of usual ones. Of more only the selected one is kept.
const maxCloned = 16 << 20

// maxSpool is how much of a compressed or piped capture is put into a temporary file, in
// bytes, to be read again. Chosen: less than a disk has free on which somebody keeps captures.
const maxSpool = 16 << 30
