package tui

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/bytehaul/pghaul/internal/show"
)

// askPath asks for the file that the report goes to.
func (s *reportScreen) askPath(path string) tea.Cmd {
	return Ask(&Dialog{Title: "Write the report to a file", Prompt: "file", Text: path, Yes: "write", No: "do not",
		Then: func(yes bool, path string) tea.Cmd {
			if !yes {
				return nil
			}
			return s.write(path, os.O_EXCL)
		}})
}

// write writes the report; a file that exists is written over only when the operator says so.
func (s *reportScreen) write(path string, how int) tea.Cmd {
	text := s.plain()
	return func() tea.Msg {
		err := writeFile(path, how, text)
		switch {
		case errors.Is(err, fs.ErrExist):
			return askMsg{&Dialog{Title: show.Text(path) + " exists", Lines: []string{"Its contents would be lost."}, Yes: "write over it", No: "choose another", Danger: true,
				Then: func(yes bool, _ string) tea.Cmd {
					if yes {
						return s.write(path, os.O_TRUNC)
					}
					return s.askPath(path)
				}}}
		case err != nil:
			return toastMsg{text: err.Error(), bad: true}
		}
		return toastMsg{text: "written to " + path}
	}
}

// writeFile creates a file, or with O_TRUNC writes over one. It is for the operator alone to read.
func writeFile(path string, how int, text string) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|how, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = io.WriteString(f, text)
	return err
}

// plain is the report as a text, without looks.
func (s *reportScreen) plain() string {
	var b strings.Builder
	if s.end.Report != nil {
		b.WriteString(s.end.Report.Text(0))
	}
	if s.end.Err != nil {
		b.WriteString("error: " + errorText(s.end.Err) + "\n")
	}
	if s.end.Hint != "" {
		b.WriteString("hint: " + show.Line(s.end.Hint) + "\n")
	}
	for _, n := range s.end.Next {
		b.WriteString("next: " + show.Line(n) + "\n")
	}
	return b.String()
}
