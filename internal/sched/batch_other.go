//go:build !linux

package sched

// Batch does nothing where the kernel knows no batch scheduling.
func Batch() error { return nil }
