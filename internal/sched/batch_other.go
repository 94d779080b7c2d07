//go:build !linux

package sched

// Batch does nothing where the kernel knows no batch scheduling.
func Batch() error { return nil }

// Ordinary does nothing where there is no batch scheduling.
func Ordinary() (undo func()) { return func() {} }
