package pipeline

// What tables may use, in bytes, of DefaultMemory; other budgets scale it. The
// flows of track take about 7 MiB and the sets of split 4; batches, output and
// the runtime need the rest.
const (
	fragMemory = 2 << 20 // fragments of IP datagrams: one table, in the reader
)

// maxUnsplit is the payload length above which Source and GoldSource split a
// reply. A longer datagram will be fragmented by IP and lost behind many filters.
const maxUnsplit = 1400

// fixedSeed keys the tables while reading files, so that the same file gives
// the same evictions and the same output.
const fixedSeed = 0x7173_6e69_6666_0001
