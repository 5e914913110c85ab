// Package nattest loads printed rules on a host whose game server runs in a container and tests
// in the kernel that they see the addresses that clients see. It has no code of its own, and its
// test is for Linux.
package nattest
