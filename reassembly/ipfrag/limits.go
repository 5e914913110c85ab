package ipfrag

import "time"

const (
	// DefaultBytes is the memory of a Table unless the caller chooses another:
	// 26 of the largest datagrams, or almost 900 replies that lost their
	// second half. Linux takes 4 MiB (ipfrag_high_thresh).
	DefaultBytes = 2 << 20

	// minBytes is the least a Table works with: one set may be 65,535 bytes
	// in maxFragments fragments, each of which wastes part of a block, and it
	// must fit without evicting itself.
	minBytes = fixedBytes + (maxLength/blockSize+1+maxFragments)*blockCost

	// expiry is how long a set waits for its missing fragments, from the
	// arrival of its first, in nanoseconds of packet time. Linux gives IPv4 30
	// seconds (ipfrag_time) and RFC 8200 gives IPv6 60; the shorter serves both,
	// because 16-bit ids are used again and no client waits that long.
	expiry = int64(30 * time.Second)

	// maxLength is the longest IP payload that is joined, in bytes: the length
	// field of an IP header holds no more, and fragments that end beyond it are the
	// "ping of death" (CVE-1999-0128).
	maxLength = 65_535

	// maxFragments is how many fragments one set may have. 65,535 bytes over
	// the 576-byte MTU that every IPv4 host must accept are 119.
	maxFragments = 128

	// blockSize is the unit in which payload is stored, in bytes. Three hold
	// a fragment of a 1,500-byte MTU with 4 % waste. A flood of tiny
	// fragments costs at most a block each.
	blockSize = 512

	// blocksPerSet is how many blocks there are for each set: the smallest
	// datagram that a 1,500-byte MTU cuts takes four, so sets do not run out before
	// blocks do, unless an attacker sends shorter fragments.
	blocksPerSet = 4

	// blockCost is what a block takes of a Table's memory: itself, its link,
	// one record of a fragment and its part of a set and of the index.
	blockCost = blockSize + 4 + fragmentBytes + (setBytes+2*4+blocksPerSet-1)/blocksPerSet

	// fixedBytes is what every Table takes whatever its size: the memory of the
	// datagram that it returns.
	fixedBytes = maxLength + maxFragments*pieceBytes + 512

	// The sizes of the records; a test compares them with the compiler's.
	fragmentBytes = 32
	setBytes      = 96
	pieceBytes    = 24
)
