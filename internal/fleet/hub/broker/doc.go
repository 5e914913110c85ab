// Package broker has the broker within qsniff-hub, a nats-server with JetStream in the same process;
// makes the credentials by which it recognises sensors; and connects to it, or to one elsewhere. It does
// not read what goes through it.
package broker
