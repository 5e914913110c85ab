// Package sketch counts more than it remembers: distinct hashes, the most frequent
// keys, membership. Each type has a fixed size, allocates nothing after it was
// made, and says which way it can be wrong. What they are given are hashes; a key
// of its own choosing can collide only for who knows the seed. It knows nothing of
// packets, and nothing here is safe for concurrent use.
package sketch
