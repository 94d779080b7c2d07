package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "man DIR",
		Short:       "write the manual pages into a folder",
		GroupID:     groupOther,
		Args:        exactly(1, 1, "the folder DIR"),
		Annotations: map[string]string{exitLines: "0,1,2"},
		Example:     "  pghaul man /usr/local/share/man/man1",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil { //nolint:gosec // manual pages are for everybody
				return err
			}
			root := a.root()
			root.InitDefaultHelpFlag()
			completeForMan(root)
			header := &doc.GenManHeader{Title: "PGHAUL", Section: "1", Source: tool(), Manual: "pghaul manual"}
			return doc.GenManTree(root, header, args[0])
		},
	}
}

// completeForMan puts what only our own help prints into the text from which cobra makes manual pages.
func completeForMan(c *cobra.Command) {
	var b strings.Builder
	if b.WriteString(c.Long); c.Long == "" {
		b.WriteString(c.Short)
	}
	if text := c.Annotations[notes]; text != "" {
		b.WriteString("\n\n" + text)
	}
	if env := environmentOf(c); env != "" {
		b.WriteString("\n\n# ENVIRONMENT\n")
		names := ""
		for line := range strings.SplitSeq(env, "\n") {
			name, meaning, _ := strings.Cut(line, "\t")
			if names += name; meaning == "" {
				names += " "
				continue // more of them in the next line
			}
			b.WriteString("\n" + names + "\n: " + meaning + "\n")
			names = ""
		}
	}
	if codes := exitTexts(c); len(codes) > 0 {
		b.WriteString("\n\n# EXIT STATUS\n")
		for _, line := range codes {
			code, meaning, _ := strings.Cut(line, " ")
			b.WriteString("\n" + code + "\n: " + strings.TrimSpace(meaning) + "\n")
		}
	}
	c.Long = b.String()
	for _, sub := range c.Commands() {
		completeForMan(sub)
	}
}
