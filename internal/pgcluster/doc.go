// Package pgcluster runs a throwaway PostgreSQL server made from the binaries
// that are installed on this machine. `pghaul demo` and the tests use it.
//
// A Cluster is one data folder and, while it runs, one postgres process that is
// a child of ours: Kill reaches it, and it does not outlive us (on Linux through
// the parent-death signal). Everything it writes lies in one temporary folder,
// its socket included, so that any number of clusters stand side by side and
// beside the machine's own server.
//
// The server trusts everyone who can reach it, which is the owner of the folder
// (mode 0700) and, with Options.TCP, every user of this machine. It does not fsync.
// Never keep anything in it.
//
// PostgreSQL refuses to run as root. When we are root, all server programs run as
// the user "postgres", and the folder belongs to that user.
package pgcluster
