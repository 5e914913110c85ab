// Package manual is what qsniff can say about itself: its fields, its message
// types, its findings and its limits, as tables for a terminal and as lines of
// JSON. All of it comes from the definitions that the decoder works with; nothing
// is written down here that a protocol declares. It knows no commands and makes
// no pages: internal/tools/docgen does.
package manual
