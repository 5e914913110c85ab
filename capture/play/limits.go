package play

import "time"

// pause is how long Read waits for what is due next. Chosen: a key acts within it.
const pause = 50 * time.Millisecond
