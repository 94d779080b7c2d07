package pgcluster

// For the tests.
var (
	IsAlive   = isAlive
	AwaitGone = awaitGone
)
