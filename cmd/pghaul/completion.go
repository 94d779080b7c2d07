package main

import "github.com/spf13/cobra"

var shells = []string{"bash", "zsh", "fish", "powershell"}

func (a *app) completionCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "completion SHELL",
		Short:       "write a shell's completion script to standard output",
		GroupID:     groupOther,
		ValidArgs:   shells,
		Args:        exactly(1, 1, "the SHELL: bash, zsh, fish or powershell"),
		Annotations: map[string]string{exitLines: "0,2"},
		Example: "  source <(pghaul completion bash)\n" +
			"  pghaul completion zsh > \"${fpath[1]}/_pghaul\"\n" +
			"  pghaul completion fish > ~/.config/fish/completions/pghaul.fish",
		RunE: func(c *cobra.Command, args []string) error {
			switch root := c.Root(); args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.stdout, true)
			case "zsh":
				return root.GenZshCompletion(a.stdout)
			case "fish":
				return root.GenFishCompletion(a.stdout, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.stdout)
			}
			return usagef("completion: shell %q is none of bash, zsh, fish, powershell", args[0])
		},
	}
}
