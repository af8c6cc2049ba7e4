// Command series records the throughput of an S3 server over time, for the judgement of linerate's statistics. It
// shares no code with linerate: what it says of a server is no echo of what is judged by it.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "series:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("say what to do: fill (write the objects), record, or publish")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	hosts := flags.String("hosts", "127.0.0.1:9000", "servers, with commas between; requests take turns at them")
	bucket := flags.String("bucket", "series", "bucket, made by fill")
	versioned := flags.Bool("versioned", false, "fill: switch versioning on")
	size := flags.Int("size", 64<<10, "bytes of an object")
	objects := flags.Int("objects", 1000, "keys that requests are spread over")
	inFlight := flags.Int("in-flight", 8, "requests in flight, always")
	mix := flags.String("mix", "get=100", "record: shares of get, put, delete (a marker) and erase (one version)")
	duration := flags.Duration("duration", time.Hour, "record: how long")
	out := flags.String("out", "", "record: files OUT.bins.csv and OUT.seconds.csv; OUT.started has the first instant")
	var p places
	flags.StringVar(&p.from, "from", "", "publish: folder of recordings")
	flags.StringVar(&p.to, "to", "", "publish: folder to make")
	flags.StringVar(&p.scenes, "scenes", "labs/series/scenes", "publish: folder of the scenes' scripts")
	flags.StringVar(&p.servers, "servers", "target/servers", "publish: folder of the servers that were recorded")
	flags.StringVar(&p.linerate, "linerate", "target/debug/linerate", "publish: the linerate that was recorded")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	client := newClient(strings.Split(*hosts, ","), *bucket, *size)
	switch args[0] {
	case "publish":
		return publish(p)
	case "fill":
		return fill(client, *versioned, *objects, *inFlight)
	case "record":
		shares, err := parseMix(*mix)
		if err != nil {
			return err
		}
		return record(client, shares, *objects, *inFlight, *duration, *out)
	}
	return fmt.Errorf("unknown command %q: say fill, record or publish", args[0])
}
