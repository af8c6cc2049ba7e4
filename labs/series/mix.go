package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
)

// Shares of operations, of 100.
type shares struct{ get, put, delete, erase int }

func parseMix(text string) (shares, error) {
	var s shares
	places := map[string]*int{"get": &s.get, "put": &s.put, "delete": &s.delete, "erase": &s.erase}
	for part := range strings.SplitSeq(text, ",") {
		name, share, _ := strings.Cut(part, "=")
		place, known := places[name]
		value, err := strconv.Atoi(share)
		if !known || err != nil || value < 0 {
			return s, fmt.Errorf("invalid share %q: write get, put, delete or erase, = and a whole number", part)
		}
		*place = value
	}
	if s.get+s.put+s.delete+s.erase != 100 {
		return s, fmt.Errorf("invalid mix %q: shares come to 100", text)
	}
	return s, nil
}

// Versions that were written and may be erased; the oldest are forgotten.
type versions struct {
	lock  sync.Mutex
	known [1024]version
	count int
}

type version struct {
	number int
	id     string
}

func (v *versions) remember(written version) {
	v.lock.Lock()
	defer v.lock.Unlock()
	if v.count < len(v.known) {
		v.known[v.count] = written
		v.count++
	} else {
		v.known[rand.IntN(len(v.known))] = written
	}
}

func (v *versions) take() (version, bool) {
	v.lock.Lock()
	defer v.lock.Unlock()
	if v.count == 0 {
		return version{}, false
	}
	at := rand.IntN(v.count)
	taken := v.known[at]
	v.count--
	v.known[at] = v.known[v.count]
	return taken, true
}

// Ask makes one request of the mix. An erasure for which no version is left is a write.
func ask(c *client, s shares, written *versions, objects int) (int64, error) {
	number, drawn := rand.IntN(objects), rand.IntN(100)
	switch {
	case drawn < s.get:
		return c.get(number)
	case drawn < s.get+s.delete:
		_, _, err := c.do(http.MethodDelete, "/"+key(number), "", nil)
		return 0, err
	case drawn < s.get+s.delete+s.erase:
		if one, any := written.take(); any {
			query := "versionId=" + url.QueryEscape(one.id)
			_, _, err := c.do(http.MethodDelete, "/"+key(one.number), query, nil)
			return 0, err
		}
	}
	count, id, err := c.put(number)
	if err == nil && id != "" && s.erase > 0 {
		written.remember(version{number, id})
	}
	return count, err
}
