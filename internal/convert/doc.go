// Package convert changes the values of rows on their way from a dump to a target: OIDs inside of arrays and composites become
// those of the target's types of the same names, narrow numbers become wide ones, columns that the target lacks are left out, and
// values that the target's major cannot mean are refused.
//
// A [Plan] is made once per table from the types of both sides. A plan that has nothing to do says so, and costs nothing then.
package convert
