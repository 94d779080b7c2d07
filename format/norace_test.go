//go:build !race

package format

// poolSlack: see race_test.go.
const poolSlack = 0
