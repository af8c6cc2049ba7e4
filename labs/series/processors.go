package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Processors is the time of all processors of this machine, in ticks.
type processors struct{ busy, steal, all uint64 }

func readProcessors() (processors, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return processors{}, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return processors{}, fmt.Errorf("cannot read the first line of /proc/stat: %q", line)
	}
	var p processors
	// user nice system idle iowait irq softirq steal; what guests took is in user and nice.
	for at, field := range fields[1:9] {
		ticks, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return p, fmt.Errorf("cannot read %q in /proc/stat: %w", line, err)
		}
		p.all += ticks
		switch at {
		case 3, 4:
		case 7:
			p.steal += ticks
		default:
			p.busy += ticks
		}
	}
	return p, nil
}

func (p processors) since(before processors) processors {
	return processors{p.busy - before.busy, p.steal - before.steal, p.all - before.all}
}

func (p processors) permille(part uint64) uint64 {
	if p.all == 0 {
		return 0
	}
	return (part*1000 + p.all/2) / p.all
}
