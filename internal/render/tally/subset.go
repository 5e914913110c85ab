package tally

// Subset counts what became of chosen messages and their packets.
type Subset struct {
	Messages    uint64 // chosen
	Packets     uint64 // written
	Late        uint64 // packets of a stream that had gone before their message was decided
	Uncommented uint64 // packets without the comment that names their message, for lack of room
	Unmarked    uint64 // packets that were not written, for lack of room to mark them
	Overwritten uint64 // packets overwritten whole, because what was to be overwritten of them could not be found
	Unpacked    uint64 // compressed messages that were overwritten, because they could not be unpacked, or packed again
	Refused     uint64 // packets that the format of the file cannot hold
}
