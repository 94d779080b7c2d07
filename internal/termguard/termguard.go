// Package termguard keeps the start of the program silent on a terminal.
//
// Bubble Tea v1 asks the terminal for its background colour in a package init, in every command of a binary that links it; on a terminal that
// never answers this takes 5 seconds and leaves stray escape sequences. Lip Gloss asks only once, so an answer given before spares the question.
// Go initialises packages that do not depend on each other in the order of their import paths: this one must sort before
// github.com/charmbracelet/bubbletea, import nothing but Lip Gloss, and be imported by main.
package termguard

import "github.com/charmbracelet/lipgloss"

func init() { lipgloss.SetHasDarkBackground(true) }
