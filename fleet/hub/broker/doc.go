// Package broker has the broker within qsniff-hub, a nats-server with JetStream in the same process;
// makes the credentials by which it tells sensors apart; and connects to it, or to one elsewhere. What
// goes through it is not its business.
package broker
