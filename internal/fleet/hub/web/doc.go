// Package web shows what a hub has: a page for people, which loads nothing and runs nothing in their
// browsers, the same as JSON, and metrics. It changes nothing.
package web
