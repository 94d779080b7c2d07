package pgcluster

// IsAlive is for the tests.
var IsAlive = isAlive
