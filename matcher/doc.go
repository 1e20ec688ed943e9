// Package matcher reads robots.txt files as RFC 9309 says and answers what a
// crawler may ask for. It does no I/O.
package matcher
