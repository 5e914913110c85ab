package cli

// LongestConfig is the greatest size of a file of thresholds or flags, in bytes. Chosen: far more
// than all of them take with long comments, so that a capture that is named by mistake
// is refused at once.
const LongestConfig = 256 << 10
