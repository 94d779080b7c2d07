//go:build race

package format

// poolSlack is how many allocations a call may make for want of pooled memory: with the race detector sync.Pool drops what it is given at random.
const poolSlack = 4
