package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Recording is a scene as it was recorded.
type recording struct {
	scene, about, command, events string
	started                       time.Time
	bins                          []row
	busy                          []int64
}

// Row is a bin as it was written.
type row struct{ completions, bytes, errors, sumMicros, maxMicros int64 }

func readRecording(p places, scene string) (recording, error) {
	r := recording{scene: scene}
	at := func(kind string) string { return filepath.Join(p.from, scene+"."+kind) }
	command, err := os.ReadFile(at("command"))
	if err != nil {
		return r, err
	}
	r.command = strings.TrimSpace(string(command))
	started, err := os.ReadFile(at("started"))
	if err != nil {
		return r, err
	}
	instant, err := strconv.ParseInt(strings.TrimSpace(string(started)), 10, 64)
	if err != nil {
		return r, err
	}
	r.started = time.Unix(instant, 0)
	// A scene in which nothing is done to the server notes no event.
	events, _ := os.ReadFile(at("events.csv"))
	r.events = string(events)
	script, err := os.ReadFile(filepath.Join(p.scenes, scene+".sh"))
	if err != nil {
		return r, err
	}
	r.about = firstComment(string(script))
	bins, err := readNumbers(at("bins.csv"), 5)
	if err != nil {
		return r, err
	}
	for _, b := range bins {
		r.bins = append(r.bins, row{b[0], b[1], b[2], b[3], b[4]})
	}
	seconds, err := readNumbers(at("seconds.csv"), 2+classes)
	if err != nil {
		return r, err
	}
	for _, s := range seconds {
		r.busy = append(r.busy, s[0])
	}
	if len(r.bins) != len(r.busy)*binsPerSecond {
		return r, fmt.Errorf("%d bins and %d seconds: the recording was cut off", len(r.bins), len(r.busy))
	}
	return r, nil
}

// FirstComment is the comment behind the first line of a script.
func firstComment(script string) string {
	var words []string
	for at, line := range strings.Split(script, "\n") {
		if text, is := strings.CutPrefix(line, "# "); is {
			words = append(words, text)
		} else if at > 0 {
			break
		}
	}
	return strings.Join(words, " ")
}

func readNumbers(path string, columns int) ([][]int64, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	rows, err := parseNumbers(file, columns)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return rows, nil
}

// ParseNumbers reads rows of whole numbers behind a header.
func parseNumbers(from io.Reader, columns int) ([][]int64, error) {
	var rows [][]int64
	lines := bufio.NewScanner(from)
	lines.Scan()
	for lines.Scan() {
		fields := strings.Split(lines.Text(), ",")
		if len(fields) != columns {
			return nil, fmt.Errorf("%d columns instead of %d in %q", len(fields), columns, lines.Text())
		}
		numbers := make([]int64, columns)
		for at, field := range fields {
			number, err := strconv.ParseInt(field, 10, 64)
			if err != nil || number < 0 {
				return nil, fmt.Errorf("%q is no count in %q", field, lines.Text())
			}
			numbers[at] = number
		}
		rows = append(rows, numbers)
	}
	return rows, lines.Err()
}
