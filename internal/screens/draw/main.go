// Command draw writes the terminal UI's screens as SVG files (make screens).
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bytehaul/pghaul/internal/screens"
)

func main() {
	folder := flag.String("to", "docs/screens", "folder of the SVG files")
	only := flag.String("only", "", "draw this one alone")
	text := flag.Bool("text", false, "print frames in place of files")
	flag.Parse()
	if err := draw(*folder, *only, *text); err != nil {
		fmt.Fprintln(os.Stderr, "draw:", err)
		os.Exit(1)
	}
}

func draw(folder, only string, text bool) error {
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // for everybody to read
		return err
	}
	for _, s := range screens.Shots() {
		name := fmt.Sprintf("%s-%dx%d", s.Name, s.Width, s.Height)
		if only != "" && only != s.Name && only != name {
			continue
		}
		frame := s.Play(s.Width, s.Height).Program.View()
		if text {
			fmt.Printf("%s\n%s\n\n", name, frame)
			continue
		}
		palettes := screens.Palettes()
		if !s.Light {
			palettes = palettes[:1]
		}
		for _, p := range palettes {
			file := filepath.Join(folder, name+"-"+p.Name+".svg")
			if err := os.WriteFile(file, screens.SVG(frame, s.Width, s.Height, p), 0o644); err != nil { //nolint:gosec // for everybody to read
				return err
			}
		}
	}
	return nil
}
