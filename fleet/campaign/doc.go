// Package campaign finds what the messages of all sensors of a fleet show together: floods that stay
// below what is conspicuous at each host, the same attackers at one host after another, the same
// reflectors. It speaks with no broker, and takes its time from the messages and from when the broker
// got them: the same messages give the same campaigns.
package campaign
