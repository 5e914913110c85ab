package split

// Buffered is the memory that waiting parts take, in bytes. It never exceeds
// Limits.Bytes.
func (a *Assembler) Buffered() int { return a.blocks.used * blockSize }

var outcomes = [...]string{
	"complete", "incomplete", "truncated", "bad bzip2", "too large", "refused", "malformed",
}

func (o Outcome) String() string { return outcomes[o] }
