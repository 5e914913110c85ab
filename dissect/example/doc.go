// Package example is the template of a protocol: a query and its reply over UDP, with
// a challenge. It is built and tested like every protocol, and no part of the program;
// CONTRIBUTING.md says how to make one of it.
//
//	query   "XQ" 'i' [token u32]            token: of a challenge
//	reply   "XR" 'c' token u32              in place of information
//	        "XR" 'i' name z, map z, players u8, max u8
package example
