package main

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A server that answers after a while, and not at all for 600 ms from the first request after a second on.
type pausing struct {
	answered atomic.Int64
	started  time.Time
}

func (p *pausing) ServeHTTP(reply http.ResponseWriter, _ *http.Request) {
	const pauseBegins, pauseEnds = time.Second, 1600 * time.Millisecond
	if now := time.Since(p.started); now > pauseBegins && now < pauseEnds {
		time.Sleep(pauseEnds - now)
	}
	time.Sleep(5 * time.Millisecond)
	p.answered.Add(1)
	_, _ = reply.Write(make([]byte, 100))
}

func TestAPauseOfTheServerIsSeenWhereItIs(t *testing.T) {
	server := &pausing{}
	listening := httptest.NewServer(server)
	defer listening.Close()
	client := newClient([]string{strings.TrimPrefix(listening.URL, "http://")}, "bucket", 100)
	out := filepath.Join(t.TempDir(), "pause")
	server.started = time.Now()
	if err := record(client, shares{get: 100}, 10, 4, 3*time.Second, out); err != nil {
		t.Fatal(err)
	}
	bins, err := readNumbers(out+".bins.csv", 5)
	if err != nil {
		t.Fatal(err)
	}
	seconds, err := readNumbers(out+".seconds.csv", 2+classes)
	if err != nil {
		t.Fatal(err)
	}
	if len(bins) != 60 || len(seconds) != 3 {
		t.Fatalf("%d bins and %d seconds", len(bins), len(seconds))
	}
	var completions, counted, bytes, longest int64
	for _, b := range bins {
		completions += b[0]
		bytes += b[1]
		longest = max(longest, b[4])
	}
	for _, second := range seconds {
		for _, count := range second[2:] {
			counted += count
		}
	}
	// The last of each slot may end behind the last bin.
	if answered := server.answered.Load(); completions > answered || completions < answered-4 {
		t.Errorf("%d of %d were recorded", completions, answered)
	}
	if counted != completions || bytes != 100*completions {
		t.Errorf("%d completions, %d latencies, %d bytes", completions, counted, bytes)
	}
	if longest < 500_000 {
		t.Errorf("the longest latency is %d µs", longest)
	}
	// A bin on either side may have what was answered around the pause.
	for at := 22; at < 31; at++ {
		if bins[at][0] != 0 {
			t.Errorf("%d requests ended in bin %d, within the pause", bins[at][0], at)
		}
	}
}

func TestWhatFailsIsAnErrorAndNoLatency(t *testing.T) {
	r := &recorder{started: time.Now(), bins: make([]bin, 20), seconds: make([]second, 1), told: 200}
	begun := r.started
	r.book(begun, begun.Add(49*time.Millisecond), 7, nil)
	r.book(begun, begun.Add(50*time.Millisecond), 9, nil)
	r.book(begun, begun.Add(60*time.Millisecond), 0, errors.New("refused"))
	r.book(begun, begun.Add(time.Second), 11, nil)
	want := []bin{
		{completions: 1, bytes: 7, sum: 49 * time.Millisecond, max: 49 * time.Millisecond},
		{completions: 1, errors: 1, bytes: 9, sum: 50 * time.Millisecond, max: 50 * time.Millisecond},
	}
	for at, b := range r.bins {
		if at < len(want) && b != want[at] || at >= len(want) && b != (bin{}) {
			t.Errorf("bin %d is %+v", at, b)
		}
	}
	var rows, ignored bytes.Buffer
	r.rows(0, &rows, &ignored)
	if !strings.HasPrefix(rows.String(), "1,7,0,49000,49000\n1,9,1,50000,50000\n0,0,0,0,0\n") {
		t.Errorf("rows are %q", rows.String())
	}
}

func TestALatencyIsInTheClassThatIsNamedAfterIt(t *testing.T) {
	names := boundNames()
	cases := []struct {
		latency time.Duration
		name    string
	}{
		{0, ",to_500_us"},
		{500 * time.Microsecond, ",to_500_us"},
		{501 * time.Microsecond, ",to_707_us"},
		{time.Millisecond, ",to_1000_us"},
		{100 * time.Millisecond, ",to_128000_us"},
		{60 * time.Second, ",to_65536000_us"},
		{time.Hour, ",above"},
	}
	for _, c := range cases {
		if got := names[class(c.latency)]; got != c.name {
			t.Errorf("%v is in %q and not in %q", c.latency, got, c.name)
		}
	}
}

func TestAMixThatDoesNotComeToAHundredIsRefused(t *testing.T) {
	if s, err := parseMix("put=45,delete=20,erase=35"); err != nil || s != (shares{put: 45, delete: 20, erase: 35}) {
		t.Errorf("%+v %v", s, err)
	}
	for _, text := range []string{"", "get", "get=99", "get=101", "get=150,put=-50", "look=100", "get=1e2"} {
		if _, err := parseMix(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestAVersionIsErasedOnce(t *testing.T) {
	var v versions
	for number := range 3000 {
		v.remember(version{number, ""})
	}
	seen := map[int]bool{}
	for one, any := v.take(); any; one, any = v.take() {
		if seen[one.number] {
			t.Fatalf("%d is taken twice", one.number)
		}
		seen[one.number] = true
	}
	if len(seen) != len(v.known) {
		t.Errorf("%d were kept", len(seen))
	}
}

func TestTimeOfProcessorsIsShared(t *testing.T) {
	if _, err := os.Stat("/proc/stat"); err != nil {
		t.Skip("no /proc/stat")
	}
	now, err := readProcessors()
	if err != nil || now.all < now.busy+now.steal {
		t.Errorf("%+v %v", now, err)
	}
	if got := (processors{busy: 1, all: 3}).permille(1); got != 333 {
		t.Errorf("a third is %d", got)
	}
}
