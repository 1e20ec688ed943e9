package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// This file has the commands that packages of the program use: help and completion.

// shells are the arguments of polite completion.
var shells = []string{"bash", "zsh", "fish", "powershell"}

func (c *cli) completionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion [flags] SHELL",
		Short: "Print the completion script of bash, zsh, fish or powershell",
		Long: `Completion prints a script that completes commands and flags when you press Tab.
SHELL is bash, zsh, fish or powershell. Put the script where your shell looks
for completions; the examples show the usual places. The script of bash needs
the package bash-completion.`,
		Example: `  polite completion bash > ~/.local/share/bash-completion/completions/polite
  polite completion zsh > "${fpath[1]}/_polite"
  polite completion fish > ~/.config/fish/completions/polite.fish`,
		Args:      between(1, 1, "a shell: "+strings.Join(shells, ", ")),
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(c.out, true)
			case "zsh":
				return root.GenZshCompletion(c.out)
			case "fish":
				return root.GenFishCompletion(c.out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(c.out)
			}
			return usageErrorf("no shell %q; want one of %s", args[0], strings.Join(shells, ", "))
		},
	}
}

func (c *cli) helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [flags] [COMMAND]",
		Short: "Show the help of a command",
		Long:  "Help shows the help of a command, as --help does.",
		Args: func(cmd *cobra.Command, args []string) error {
			if found, _, err := cmd.Root().Find(args); err != nil || len(args) > 0 && found == cmd.Root() {
				return unknownCommand(cmd.Root(), args)
			}
			return nil
		},
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			for _, sub := range cmd.Root().Commands() {
				names = append(names, fmt.Sprintf("%s\t%s", sub.Name(), sub.Short))
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			found, _, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			found.InitDefaultHelpFlag()
			found.InitDefaultVersionFlag()
			return found.Help()
		},
	}
}
