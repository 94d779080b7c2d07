package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Annotations of flags that the help reads.
const (
	inGroup   = "pghaul_group"    // the heading under which a flag stands
	valueName = "pghaul_value"    // the word for its value: DIR, PATTERN
	optional  = "pghaul_optional" // there is a value only after "="
)

// flags adds flags to a command under one heading of its help.
type flags struct{ *pflag.FlagSet }

// groupOf gives f the flags of one heading.
func groupOf(c *cobra.Command, title string, persistent bool, f func(flags)) {
	set := pflag.NewFlagSet(title, pflag.ContinueOnError)
	set.SortFlags = false
	f(flags{set})
	set.VisitAll(func(flag *pflag.Flag) { annotate(flag, inGroup, title) })
	to := c.Flags()
	if persistent {
		to = c.PersistentFlags()
	}
	to.SortFlags = false
	to.AddFlagSet(set)
	set.VisitAll(func(flag *pflag.Flag) { complete(c, flag) })
}

// complete lets shells complete the words of a flag that has only a few.
func complete(c *cobra.Command, flag *pflag.Flag) {
	var words []string
	switch v := flag.Value.(type) {
	case *choiceValue:
		words = v.words
	case *wordsValue:
		words = v.words
	default:
		return
	}
	if err := c.RegisterFlagCompletionFunc(flag.Name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag has just been defined
	}
}

func annotate(flag *pflag.Flag, key, value string) {
	if flag.Annotations == nil {
		flag.Annotations = map[string][]string{}
	}
	flag.Annotations[key] = []string{value}
}

func annotation(flag *pflag.Flag, key string) string {
	if v := flag.Annotations[key]; len(v) == 1 {
		return v[0]
	}
	return ""
}

func (f flags) named(name, value string) {
	if value != "" {
		annotate(f.Lookup(name), valueName, value)
	}
}

func (f flags) boolean(p *bool, name, short, usage string) { f.BoolVarP(p, name, short, *p, usage) }

func (f flags) text(p *string, name, short, value, usage string) {
	f.StringVarP(p, name, short, *p, usage)
	f.named(name, value)
}

// list is a flag that may be given again and again; commas are part of a value.
func (f flags) list(p *[]string, name, short, value, usage string) {
	f.StringArrayVarP(p, name, short, nil, usage)
	f.named(name, value)
}

func (f flags) number(p *int, name, short, value, usage string, low, high int) {
	f.VarP(&intValue{p, low, high}, name, short, usage)
	f.named(name, value)
}

// choice is a flag with a few words for values.
func (f flags) choice(p *string, name, short, usage string, words ...string) {
	f.VarP(&choiceValue{p, words}, name, short, usage)
	f.named(name, strings.Join(words, "|"))
}

// sections is a flag for parts of a dump that may be given again and again.
func (f flags) sections(p *[]string, words ...string) {
	f.Var(&wordsValue{p, words}, "section", "only this section: "+strings.Join(words, ", ")+"\n(repeatable)")
	f.named("section", "SECTION")
}

func (f flags) size(p *int64, name, short, value, usage string) {
	f.VarP((*sizeValue)(p), name, short, usage)
	f.named(name, value)
}

func (f flags) duration(p *time.Duration, name, short, value, usage string) {
	f.VarP((*durationValue)(p), name, short, usage)
	f.named(name, value)
}

type intValue struct {
	p         *int
	low, high int
}

func (v *intValue) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < v.low || n > v.high {
		return fmt.Errorf("must be a number from %d to %d", v.low, v.high)
	}
	*v.p = n
	return nil
}
func (v *intValue) String() string { return strconv.Itoa(*v.p) }
func (v *intValue) Type() string   { return "int" }

type choiceValue struct {
	p     *string
	words []string
}

func (v *choiceValue) Set(s string) error {
	for _, w := range v.words {
		if s == w {
			*v.p = s
			return nil
		}
	}
	return fmt.Errorf("must be one of %s", strings.Join(v.words, ", "))
}
func (v *choiceValue) String() string { return *v.p }
func (v *choiceValue) Type() string   { return "string" }

// wordsValue is a list of words out of a few.
type wordsValue struct {
	p     *[]string
	words []string
}

func (v *wordsValue) Set(s string) error {
	if !slices.Contains(v.words, s) {
		return fmt.Errorf("must be one of %s", strings.Join(v.words, ", "))
	}
	*v.p = append(*v.p, s)
	return nil
}
func (v *wordsValue) String() string { return strings.Join(*v.p, ",") }
func (v *wordsValue) Type() string   { return "list" }

// sizeValue is a number of bytes as PostgreSQL's settings have it: kB, MB, GB and TB are powers of 1024.
type sizeValue int64

func (v *sizeValue) Set(s string) error {
	n, err := parseSize(s)
	if err == nil {
		*v = sizeValue(n)
	}
	return err
}
func (v *sizeValue) String() string { return formatSize(int64(*v)) }
func (v *sizeValue) Type() string   { return "size" }

var sizeUnits = []struct {
	name  string
	shift uint
}{{"TB", 40}, {"GB", 30}, {"MB", 20}, {"kB", 10}, {"B", 0}}

// parseSize reads 64kB, 4MB, 1GB or a plain number of bytes.
func parseSize(s string) (int64, error) {
	digits, shift := s, uint(0)
	for _, u := range sizeUnits {
		if rest, ok := strings.CutSuffix(s, u.name); ok {
			digits, shift = rest, u.shift
			break
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
	switch {
	case err != nil || n < 0:
		return 0, fmt.Errorf("must be a size such as 64kB, 256MB or 1GB")
	case n > math.MaxInt64>>shift:
		return 0, fmt.Errorf("is too large")
	}
	return n << shift, nil
}

func formatSize(n int64) string {
	for _, u := range sizeUnits {
		if n != 0 && n%(1<<u.shift) == 0 {
			return strconv.FormatInt(n>>u.shift, 10) + u.name
		}
	}
	return "0"
}

// durationValue is a time as PostgreSQL's settings have it: a bare number is milliseconds; ms, s, min, h and d, and Go's own form, are units.
type durationValue time.Duration

func (v *durationValue) Set(s string) error {
	d, err := parseDuration(s)
	if err == nil {
		*v = durationValue(d)
	}
	return err
}
func (v *durationValue) String() string { return time.Duration(*v).String() }
func (v *durationValue) Type() string   { return "duration" }

func parseDuration(s string) (time.Duration, error) {
	bad := fmt.Errorf("must be a time such as 500ms, 10s or 5min")
	if n, err := strconv.ParseInt(s, 10, 32); err == nil && n >= 0 {
		return time.Duration(n) * time.Millisecond, nil
	}
	if rest, ok := strings.CutSuffix(s, "min"); ok {
		s = rest + "m"
	}
	if rest, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseInt(rest, 10, 16)
		if err != nil || n < 0 {
			return 0, bad
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, bad
	}
	return d, nil
}

// exclusive refuses two flags that contradict each other.
func exclusive(c *cobra.Command, names ...string) error {
	first := ""
	for _, name := range names {
		switch {
		case !c.Flags().Changed(name):
		case first == "":
			first = name
		default:
			return usagef("options --%s and --%s cannot be used together", first, name)
		}
	}
	return nil
}
