package main

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const versioning = `<VersioningConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Status>Enabled</Status>` +
	`</VersioningConfiguration>`

// How often and how long a server that begins to serve is waited for.
const (
	tries = 240
	pause = 500 * time.Millisecond
)

func retry(what func() error) error {
	var err error
	for range tries {
		if err = what(); err == nil {
			return nil
		}
		time.Sleep(pause)
	}
	return err
}

// Fill makes the bucket and writes every object, as soon as the server answers.
func fill(c *client, versioned bool, objects, inFlight int) error {
	made := func() error {
		if _, _, err := c.do(http.MethodHead, "", "", nil); err == nil {
			return nil
		}
		_, _, err := c.do(http.MethodPut, "", "", nil)
		return err
	}
	if err := retry(made); err != nil {
		return fmt.Errorf("cannot make the bucket: %w", err)
	}
	if versioned {
		if _, _, err := c.do(http.MethodPut, "", "versioning=", []byte(versioning)); err != nil {
			return fmt.Errorf("cannot switch versioning on: %w", err)
		}
	}
	var next atomic.Int64
	var first atomic.Pointer[error]
	var slots sync.WaitGroup
	for range inFlight {
		slots.Go(func() {
			for number := int(next.Add(1)) - 1; number < objects && first.Load() == nil; number = int(next.Add(1)) - 1 {
				err := retry(func() error { _, _, err := c.put(number); return err })
				if err != nil {
					first.Store(&err)
				}
			}
		})
	}
	slots.Wait()
	if err := first.Load(); err != nil {
		return fmt.Errorf("cannot write the objects: %w", *err)
	}
	return nil
}
