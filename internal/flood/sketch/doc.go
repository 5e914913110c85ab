// Package sketch estimates, in fixed memory, what an exact count would need memory without
// bound for: how many hashes are different (Distinct, Linear256, Linear1024), which keys
// come most often (Top), which value makes up a large share (Dominant), and whether a hash
// came lately (Recent). Each type has a fixed size and allocates nothing after it was made;
// its comment states in which direction it can be wrong.
//
// Callers pass hashes made with a secret seed: without the seed nobody can choose keys that
// collide. The package does not depend on packets, and nothing here is safe for concurrent
// use.
package sketch
