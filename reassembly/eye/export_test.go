package eye

import "qsniff/internal/eyehdr"

// Buffered is the memory that waiting fragments take, in bytes.
func (a *Assembler) Buffered() int { return (maxBlocks - a.nfree) * eyehdr.FragmentLen }
