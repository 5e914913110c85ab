// Package top is the screens of qsniff top: the traffic of a host at a glance. It captures
// nothing and reads no file: Feed is put into a run of the pipeline, and Model is a pure function
// of what Feed gives out, keys and the size of the screen, so that tests compare its screens
// with files. It names no protocol and no message.
//
//	pipeline.Run   goroutine of the capture: monitor.Meter, flood.Detector, recent.Tap
//	  |
//	  |  between two batches, if somebody asked
//	  v
//	State          four times a second, for the goroutine of the screen
//	  |
//	  v
//	Model          servers -> server -> exchange; incidents, columns and help beside them
//
// What a server's clients, exchanges and findings are is not counted while packets come: Decoder
// decodes the packets that are kept of one server, once somebody looks at it.
package top
