// Package mcp answers questions about the captures of one folder over the Model Context
// Protocol: to assistants, programs with a language model that read captures for people. It
// decodes nothing itself and names no protocol; it makes no change to any file, and shows no
// secret, whatever it is asked.
//
// A question arrives:
//
//  1. The library for the protocol calls the tool with its arguments (tools.go), which decode
//     checks against their schema.
//  2. folder opens the capture, if it is a regular file below the folder.
//  3. reader runs the pipeline over it. What the renderers write is cut into records, of which
//     those that the answer begins with are kept as a stretch, up to maxStretch bytes. Then
//     the run ends. Stretches of the last questions stay in a cache, so that the next page is
//     taken from there; after the end of a stretch the capture is read again.
//  4. pageOf fills an answer with records, up to MaxAnswer bytes, and adds how to go on.
//
// Whoever sends packets writes texts in them, which can be meant for the assistant. So what a
// packet may have brought stands only in JSON values under the key untrusted_wire_data, escaped
// as in all outputs, and never in a sentence of an answer or an error. Instructions,
// descriptions and answers call it data from unknown senders.
package mcp
