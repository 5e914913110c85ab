// Package netns makes network namespaces for tests that capture and send real
// packets: in one, a test sees its own packets and no others, and may change
// interfaces and rules of the firewall without harm to the host. A test is skipped where namespaces cannot be made: they take
// Linux, root and the command ip of iproute2. The package is not part of the program
// and is imported by tests only; on other systems it is empty.
package netns
