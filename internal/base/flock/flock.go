// Package flock marks files as being written, so that two runs of this program do not
// write the same file. The locks are advisory: other programs can write all the same.
package flock
