package main

import (
	"compress/gzip"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What is committed is what was recorded: an hour in each, whose two files agree.
func TestCommittedSeriesAreWhole(t *testing.T) {
	found, err := filepath.Glob("../../runs/series-*/*.bins.csv.gz")
	if err != nil || len(found) == 0 {
		t.Fatalf("%d series are committed: %v", len(found), err)
	}
	for _, path := range found {
		bins := unpacked(t, path, 5)
		seconds := unpacked(t, strings.Replace(path, ".bins.", ".seconds.", 1), 2+classes)
		if len(bins) != 72_000 || len(seconds) != 3_600 {
			t.Fatalf("%s: %d bins, %d seconds", path, len(bins), len(seconds))
		}
		for at, second := range seconds {
			var completions, latencies int64
			for _, b := range bins[at*binsPerSecond : (at+1)*binsPerSecond] {
				completions += b[0]
				if b[0] == 0 && (b[1] != 0 || b[3] != 0 || b[4] != 0) || b[4] > b[3]+600 {
					t.Errorf("%s, second %d: %v", path, at, b)
				}
			}
			for _, count := range second[2:] {
				latencies += count
			}
			if completions != latencies || second[0]+second[1] > 1001 {
				t.Errorf("%s, second %d: %d completions, %v", path, at, completions, second)
			}
		}
	}
}

func unpacked(t *testing.T, path string, columns int) [][]int64 {
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := parseNumbers(plain, columns)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return rows
}

func TestARecordingIsPublishedAsItIs(t *testing.T) {
	from, to, scenes := t.TempDir(), t.TempDir(), t.TempDir()
	write := func(folder, name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	bins := "header\n" + strings.Repeat("2,2048,0,30000,20000\n"+strings.Repeat("0,0,0,0,0\n", 19), 120)
	seconds := "header\n" + strings.Repeat("250,0"+strings.Repeat(",0", classes)+"\n", 120)
	write(from, "calm.bins.csv", bins)
	write(from, "calm.seconds.csv", seconds)
	write(from, "calm.command", "series record\n")
	write(from, "calm.started", "1700000000\n")
	write(from, "calm.events.csv", "second,event\n61,nothing happens\n")
	write(scenes, "calm.sh", "#!/bin/sh\n# A calm server\n# on a drive.\ntrue\n# no part of it\n")
	p := places{from: from, to: to, scenes: scenes, servers: from, linerate: "/no/such"}
	if err := publish(p); err != nil {
		t.Fatal(err)
	}
	if rows := unpacked(t, filepath.Join(to, "calm.bins.csv.gz"), 5); len(rows) != 2400 || rows[20][0] != 2 {
		t.Errorf("%d rows", len(rows))
	}
	text, err := os.ReadFile(filepath.Join(to, "summary.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"| `calm` | 120 | 2.00 | 0.00 | 0 | 15 ms | 0.0 s | 0.0 % | 0.0 % | 0.0 % | – | 25.0 % |",
		"A calm server on a drive.\n", " 0:   2.00   2.00   |  25  25 %", "- 61: nothing happens", "2023-11-14 22:13:20",
	} {
		if !strings.Contains(string(text), part) {
			t.Errorf("%q is missing in\n%s", part, text)
		}
	}
	if err := publish(p); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("a folder that others are in: %v", err)
	}
	p.to = t.TempDir()
	write(from, "calm.seconds.csv", seconds[:len(seconds)-len("250,0\n")-2*classes])
	if err := publish(p); err == nil || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("a recording that was cut off: %v", err)
	}
}

func TestASpreadIsOfMeansOverAWindow(t *testing.T) {
	// Ten seconds with one request a bin, ten with three.
	bins := make([]row, 400)
	for at := range bins {
		bins[at].completions = int64(1 + at/200*2)
	}
	if got := fmt.Sprint(rates(bins, 10*time.Second)); got != "[20 60]" {
		t.Errorf("rates are %s", got)
	}
	if got, want := spread(rates(bins, 10*time.Second)), math.Sqrt(800)/40; math.Abs(got-want) > 1e-12 {
		t.Errorf("%v instead of %v", got, want)
	}
	if !math.IsNaN(spread(rates(bins, 20*time.Second))) {
		t.Error("one mean has no spread")
	}
}
