package eye

import "qsniff/reassembly/wire"

// Buffered is the memory that waiting fragments take, in bytes.
func (a *Assembler) Buffered() int { return (maxBlocks - a.nfree) * wire.EyeFragmentLen }
