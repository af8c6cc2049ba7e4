package main

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	width         = 50 * time.Millisecond
	binsPerSecond = int(time.Second / width)
	// How long a slot rests after an error, so that a server that is away is not asked as fast as it refuses.
	rest = 100 * time.Millisecond
	// Upper bounds of the classes of latency grow by a factor of the square root of 2 from 500 µs; the last has none.
	classes = 36
	least   = 500 * time.Microsecond
)

// Bin is what ended in 50 ms. Bytes are those of objects, of requests that succeeded; so are latencies.
type bin struct {
	completions, errors int
	bytes               int64
	sum, max            time.Duration
}

type second struct {
	latencies [classes]int
	machine   processors
}

type recorder struct {
	lock    sync.Mutex
	started time.Time
	bins    []bin
	seconds []second
	told    int
}

func class(latency time.Duration) int {
	if latency <= least {
		return 0
	}
	at := int(math.Ceil(2 * math.Log2(float64(latency)/float64(least))))
	return min(at, classes-1)
}

// Book counts a request by the instant at which it ended. What ends after the last bin is not counted.
func (r *recorder) book(begun, ended time.Time, bytes int64, err error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	at := int(ended.Sub(r.started) / width)
	if at >= len(r.bins) {
		return
	}
	b, latency := &r.bins[at], ended.Sub(begun)
	if err != nil {
		b.errors++
		if r.told < 200 {
			r.told++
			fmt.Fprintf(os.Stderr, "%.1f s: %v\n", ended.Sub(r.started).Seconds(), err)
		}
		return
	}
	b.completions++
	b.bytes += bytes
	b.sum += latency
	b.max = max(b.max, latency)
	r.seconds[at/binsPerSecond].latencies[class(latency)]++
}

// Record keeps inFlight requests in flight for the duration. Bins are written as soon as they are over.
func record(c *client, s shares, objects, inFlight int, duration time.Duration, out string) error {
	whole := int(duration / time.Second)
	if out == "" || whole < 1 {
		return fmt.Errorf("nothing to record: -out names a file, and -duration is a second or more")
	}
	bins, err := newTable(out+".bins.csv", "completions,bytes,errors,latency_sum_us,latency_max_us")
	if err != nil {
		return err
	}
	seconds, err := newTable(out+".seconds.csv", "busy_permille,steal_permille"+strings.Join(boundNames(), ""))
	if err != nil {
		return err
	}
	r := &recorder{bins: make([]bin, whole*binsPerSecond), seconds: make([]second, whole)}
	var written versions
	r.started = time.Now()
	if err := os.WriteFile(out+".started", fmt.Appendf(nil, "%d\n", r.started.Unix()), 0o644); err != nil {
		return err
	}
	end := r.started.Add(time.Duration(whole) * time.Second)
	var slots sync.WaitGroup
	for range inFlight {
		slots.Go(func() {
			for begun := time.Now(); begun.Before(end); begun = time.Now() {
				bytes, err := ask(c, s, &written, objects)
				r.book(begun, time.Now(), bytes, err)
				if err != nil {
					time.Sleep(rest)
				}
			}
		})
	}
	if err := r.tell(bins, seconds); err != nil {
		return err
	}
	slots.Wait()
	return nil
}

// Tell writes each second's rows a moment after it is over.
func (r *recorder) tell(bins, seconds io.WriteCloser) error {
	before, err := readProcessors()
	if err != nil {
		return err
	}
	for at := range r.seconds {
		time.Sleep(time.Until(r.started.Add(time.Duration(at+1) * time.Second)))
		now, err := readProcessors()
		if err != nil {
			return err
		}
		r.lock.Lock()
		r.seconds[at].machine = now.since(before)
		before = now
		r.lock.Unlock()
		// A request that ended just before the second's end may not have been booked yet.
		if at > 0 {
			r.rows(at-1, bins, seconds)
		}
	}
	time.Sleep(width)
	r.rows(len(r.seconds)-1, bins, seconds)
	if err := bins.Close(); err != nil {
		return err
	}
	return seconds.Close()
}

func (r *recorder) rows(at int, bins, seconds io.Writer) {
	r.lock.Lock()
	defer r.lock.Unlock()
	for _, b := range r.bins[at*binsPerSecond : (at+1)*binsPerSecond] {
		sum, highest := b.sum.Round(100*time.Microsecond), b.max.Round(time.Millisecond)
		fmt.Fprintf(bins, "%d,%d,%d,%d,%d\n", b.completions, b.bytes, b.errors, sum.Microseconds(), highest.Microseconds())
	}
	s := &r.seconds[at]
	fmt.Fprintf(seconds, "%d,%d", s.machine.permille(s.machine.busy), s.machine.permille(s.machine.steal))
	for _, count := range s.latencies {
		fmt.Fprintf(seconds, ",%d", count)
	}
	fmt.Fprintln(seconds)
}

func boundNames() []string {
	names := make([]string, classes)
	for at := range names {
		bound := float64(least.Microseconds()) * math.Exp2(float64(at)/2)
		names[at] = ",to_" + strconv.Itoa(int(math.Round(bound))) + "_us"
	}
	names[classes-1] = ",above"
	return names
}

// Table is a file of rows. A write that fails is told when it is closed, as bufio keeps the first error.
type table struct {
	*bufio.Writer
	file *os.File
}

func newTable(path, header string) (*table, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	t := &table{bufio.NewWriter(file), file}
	_, err = fmt.Fprintln(t, header)
	return t, err
}

func (t *table) Close() error {
	if err := t.Flush(); err != nil {
		return err
	}
	return t.file.Close()
}
