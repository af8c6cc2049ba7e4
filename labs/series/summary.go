package main

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Windows over which means are taken, to show how long a disturbance lasts.
var windows = []struct {
	name string
	long time.Duration
}{{"1 s", time.Second}, {"10 s", 10 * time.Second}, {"1 min", time.Minute}, {"10 min", 10 * time.Minute}}

// Rates are requests per second in each window of a recording; what is left behind the last whole one is left out.
func rates(bins []row, window time.Duration) []float64 {
	width := int(window / width)
	var rates []float64
	for begin := 0; begin+width <= len(bins); begin += width {
		var count int64
		for _, b := range bins[begin : begin+width] {
			count += b.completions
		}
		rates = append(rates, float64(count)/window.Seconds())
	}
	return rates
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, value := range values {
		sum += value
	}
	return sum / float64(len(values))
}

// Spread is the standard deviation as a share of the mean; it is not known of fewer than two values.
func spread(values []float64) float64 {
	if len(values) < 2 {
		return math.NaN()
	}
	middle, squares := mean(values), 0.0
	for _, value := range values {
		squares += (value - middle) * (value - middle)
	}
	return math.Sqrt(squares/float64(len(values)-1)) / middle
}

func percent(share float64) string {
	if math.IsNaN(share) {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", share*100)
}

func summary(recordings []recording) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# Recorded series\n\nWhat requests of a closed loop got from real servers, in bins of 50 ms.\n\n")
	fmt.Fprintf(&out, "| scene | seconds | requests/s | MiB/s | errors | latency, mean | longest |")
	for _, window := range windows {
		fmt.Fprintf(&out, " spread over %s |", window.name)
	}
	fmt.Fprintf(&out, " processors busy |\n|---|---|---|---|---|---|---|%s---|\n", strings.Repeat("---|", len(windows)))
	for _, one := range recordings {
		out.WriteString(line(one))
	}
	out.WriteString("\nA spread is the standard deviation of means over so long, as a share of the mean.\n")
	for _, one := range recordings {
		out.WriteString(section(one))
	}
	return out.String()
}

func line(one recording) string {
	var all row
	for _, b := range one.bins {
		all.completions += b.completions
		all.bytes += b.bytes
		all.errors += b.errors
		all.sumMicros += b.sumMicros
		all.maxMicros = max(all.maxMicros, b.maxMicros)
	}
	var busy int64
	for _, permille := range one.busy {
		busy += permille
	}
	seconds := float64(len(one.busy))
	text := fmt.Sprintf("| `%s` | %d | %.2f | %.2f | %d | %.0f ms | %.1f s |", one.scene, len(one.busy),
		float64(all.completions)/seconds, float64(all.bytes)/seconds/(1<<20), all.errors,
		float64(all.sumMicros)/float64(max(all.completions, 1))/1e3, float64(all.maxMicros)/1e6)
	for _, window := range windows {
		text += " " + percent(spread(rates(one.bins, window.long))) + " |"
	}
	return text + fmt.Sprintf(" %s |\n", percent(float64(busy)/seconds/1000))
}

func section(one recording) string {
	var out strings.Builder
	fmt.Fprintf(&out, "\n## %s\n\n%s\n\nFrom %s:\n\n```\n%s\n```\n", one.scene, fold(one.about),
		one.started.UTC().Format("2006-01-02 15:04:05 UTC"), strings.ReplaceAll(fold(one.command), "\n", " \\\n    "))
	out.WriteString("\nRequests/s, and share of this machine's processors that was busy, in each minute:\n\n```\n")
	minutes := rates(one.bins, time.Minute)
	for at := 0; at < len(minutes); at += 10 {
		fmt.Fprintf(&out, "%2d:", at)
		for minute := at; minute < min(at+10, len(minutes)); minute++ {
			fmt.Fprintf(&out, " %6.2f", minutes[minute])
		}
		out.WriteString("   |")
		for minute := at; minute < min(at+10, len(minutes)); minute++ {
			var busy int64
			for _, permille := range one.busy[minute*60 : (minute+1)*60] {
				busy += permille
			}
			fmt.Fprintf(&out, " %3.0f", float64(busy)/600)
		}
		out.WriteString(" %\n")
	}
	out.WriteString("```\n")
	if _, rows, any := strings.Cut(one.events, "\n"); any {
		out.WriteString("\nWhat was done to it, by the second of the recording:\n\n")
		for row := range strings.Lines(rows) {
			second, event, _ := strings.Cut(strings.TrimSpace(row), ",")
			fmt.Fprintf(&out, "- %s: %s\n", second, event)
		}
	}
	return out.String()
}

// Fold breaks a text into lines of 110 characters at most.
func fold(text string) string {
	var out strings.Builder
	length := 0
	for _, word := range strings.Fields(text) {
		switch {
		case length == 0:
		case length+1+len(word) > 110:
			out.WriteString("\n")
			length = 0
		default:
			out.WriteString(" ")
			length++
		}
		out.WriteString(word)
		length += len(word)
	}
	return out.String()
}
