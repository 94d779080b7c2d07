package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Annotations of commands that the help and the man pages read.
const (
	usageLines  = "pghaul_usage"       // the lines after "Usage:", without "pghaul"
	environment = "pghaul_environment" // variables, a line each: NAME meaning
	exitLines   = "pghaul_exit"        // exit codes that the command can end with, comma-separated
	notes       = "pghaul_notes"       // paragraphs after the options
)

var exitMeaning = []struct{ code, text string }{
	{"0", "done, complete"},
	{"1", "failed"},
	{"2", "wrong usage"},
	{"3", "the check found a problem; nothing was written"},
	{"4", "incomplete: what is missing is listed by name"},
	{"130", "cancelled"},
}

const connectionEnvironment = "PGHOST, PGPORT, PGUSER, PGDATABASE, PGSERVICE, PGSSLMODE, …\tas for psql\nPGPASSFILE\tpassword file (~/.pgpass)\nPGPASSWORD\tpassword (a password file is safer)"

// column is where the explanations of options start.
const column = 30

// printHelp is cobra's help function: a command's help in psql's manner.
func printHelp(c *cobra.Command, _ []string) {
	w := c.OutOrStdout()
	long := c.Long
	if long == "" {
		long = c.Short
	}
	fmt.Fprintf(w, "%s\n\nUsage:\n", long)
	for line := range strings.SplitSeq(usageOf(c), "\n") {
		fmt.Fprintf(w, "  pghaul %s\n", line)
	}
	printCommands(w, c)
	if text := c.Annotations[notes]; text != "" {
		fmt.Fprintf(w, "\n%s\n", text)
	}
	printFlags(w, c)
	if c.Example != "" {
		fmt.Fprintf(w, "\nExamples:\n%s\n", c.Example)
	}
	printTail(w, c)
	if !c.HasParent() {
		fmt.Fprint(w, "\n\"pghaul COMMAND --help\" shows a command's options.\n")
	}
}

// usageOf is what stands after "pghaul", a line for each form.
func usageOf(c *cobra.Command) string {
	if lines := c.Annotations[usageLines]; lines != "" {
		return lines
	}
	if !c.HasParent() {
		return "COMMAND [OPTION]..."
	}
	return c.Use
}

func printCommands(w io.Writer, c *cobra.Command) {
	for _, g := range c.Groups() {
		printed := false
		for _, sub := range c.Commands() {
			if sub.GroupID != g.ID || !sub.IsAvailableCommand() {
				continue
			}
			if !printed {
				fmt.Fprintf(w, "\n%s:\n", g.Title)
				printed = true
			}
			fmt.Fprintf(w, "  %-25s %s\n", sub.Use, sub.Short)
		}
	}
}

// printFlags writes the flags under their headings, in the order in which the headings first appear; the inherited ones come last.
func printFlags(w io.Writer, c *cobra.Command) {
	var titles []string
	byTitle := map[string][]*pflag.Flag{}
	add := func(f *pflag.Flag) {
		title := annotation(f, inGroup)
		if f.Hidden || title == "" {
			return
		}
		if byTitle[title] == nil {
			titles = append(titles, title)
		}
		byTitle[title] = append(byTitle[title], f)
	}
	inherited := c.InheritedFlags()
	c.LocalFlags().SortFlags = false
	inherited.SortFlags = false
	c.NonInheritedFlags().VisitAll(add)
	inherited.VisitAll(add)
	for _, title := range titles {
		fmt.Fprintf(w, "\n%s:\n", title)
		for _, f := range byTitle[title] {
			printFlag(w, f)
		}
	}
}

func printFlag(w io.Writer, f *pflag.Flag) {
	left := "      --" + f.Name
	if f.Shorthand != "" {
		left = "  -" + f.Shorthand + ", --" + f.Name
	}
	if v := annotation(f, valueName); v != "" {
		left += "=" + v
	}
	lines := strings.Split(f.Usage, "\n")
	if len(left) >= column-1 {
		fmt.Fprintf(w, "%s\n", left)
		left = ""
	}
	for _, line := range lines {
		fmt.Fprintf(w, "%-*s%s\n", column, left, line)
		left = ""
	}
}

func printTail(w io.Writer, c *cobra.Command) {
	if env := environmentOf(c); env != "" {
		fmt.Fprint(w, "\nEnvironment:\n")
		for line := range strings.SplitSeq(env, "\n") {
			name, meaning, _ := strings.Cut(line, "\t")
			if meaning == "" {
				fmt.Fprintf(w, "  %s\n", name)
				continue
			}
			if len(name) > column-4 {
				fmt.Fprintf(w, "  %s\n", name)
				name = ""
			}
			fmt.Fprintf(w, "  %-*s%s\n", column-2, name, meaning)
		}
	}
	if codes := exitTexts(c); len(codes) > 0 {
		fmt.Fprint(w, "\nExit codes:\n")
		for _, line := range codes {
			fmt.Fprintf(w, "  %s\n", line)
		}
	}
}

// environmentOf lists the variables of a command: its own, and those that give its options defaults.
func environmentOf(c *cobra.Command) string {
	env := c.Annotations[environment]
	var names []string
	for _, name := range settableOf(c) {
		if name != toldBelow {
			names = append(names, variableOf(name))
		}
	}
	const perLine = 3
	for len(names) > perLine {
		env += "\n" + strings.Join(names[:perLine], ", ") + ","
		names = names[perLine:]
	}
	if len(names) > 0 {
		env += "\n" + strings.Join(names, ", ") + "\tas the options of these names, unless given"
	}
	env += "\nPGHAUL_CONFIG\tas --config"
	return strings.TrimPrefix(env, "\n")
}

func exitTexts(c *cobra.Command) []string {
	var lines []string
	wanted := "," + c.Annotations[exitLines] + ","
	for _, e := range exitMeaning {
		if strings.Contains(wanted, ","+e.code+",") {
			lines = append(lines, fmt.Sprintf("%-3s %s", e.code, e.text))
		}
	}
	return lines
}

// helpTopic is "pghaul help COMMAND".
func helpTopic(c *cobra.Command, args []string) error {
	topic, rest, err := c.Root().Find(args)
	if err != nil || len(rest) > 0 && topic == c.Root() {
		return usagef("there is no command %q", args[0]).hint("%s", suggestion(c.Root(), args[0]))
	}
	return topic.Help()
}

// suggestion names the command that was perhaps meant.
func suggestion(c *cobra.Command, typed string) string {
	c.Root().SuggestionsMinimumDistance = 2
	if names := c.Root().SuggestionsFor(typed); len(names) > 0 {
		return "did you mean \"pghaul " + names[0] + "\"? \"pghaul --help\" lists the commands"
	}
	return "\"pghaul --help\" lists the commands"
}

// exactly is the validation of positional arguments: between low and high of them.
func exactly(low, high int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) >= low && len(args) <= high {
			return nil
		}
		problem := usagef("%s: missing %s", c.Name(), what)
		if len(args) > high {
			problem = usagef("%s: too many arguments: %q", c.Name(), args[high])
		}
		return problem.hint("see \"%s --help\"", c.CommandPath())
	}
}
