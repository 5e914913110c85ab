// Package manual lists what qsniff can show: its fields, message types, findings and
// limits, as tables for a terminal and as lines of JSON. All of it comes from the
// definitions that the decoder itself uses, so that nothing is written down twice. It has
// no commands and makes no pages: cmd/qsniff and internal/tools/docgen do.
package manual
