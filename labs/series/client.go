package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7/pkg/signer"
)

// Client makes single signed requests, and none of them twice.
type client struct {
	hosts     []string
	turn      atomic.Uint64
	bucket    string
	size      int
	body      []byte
	accessKey string
	secretKey string
	http      *http.Client
}

func newClient(hosts []string, bucket string, size int) *client {
	body := make([]byte, size)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(body)
	dialer := net.Dialer{Timeout: 5 * time.Second}
	return &client{
		hosts: hosts, bucket: bucket, size: size, body: body,
		accessKey: os.Getenv("AWS_ACCESS_KEY_ID"), secretKey: os.Getenv("AWS_SECRET_ACCESS_KEY"),
		http: &http.Client{
			// Longer than any stall that a scene makes: what is cut off is an error and no latency.
			Timeout: 60 * time.Second,
			Transport: &http.Transport{
				DialContext: dialer.DialContext, MaxIdleConnsPerHost: 256, DisableCompression: true,
			},
		},
	}
}

func key(number int) string {
	return fmt.Sprintf("%02x/object-%06d", number%97, number)
}

// Do makes a request and reads its reply whole. It returns the bytes of the object that went over the wire, and the
// version that the server told of.
func (c *client) do(method, path, query string, body []byte) (int64, string, error) {
	host := c.hosts[c.turn.Add(1)%uint64(len(c.hosts))]
	url := "http://" + host + "/" + c.bucket + path
	if query != "" {
		url += "?" + query
	}
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	request, err := http.NewRequest(method, url, reader)
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD")
	request = signer.SignV4(*request, c.accessKey, c.secretKey, "", "us-east-1")
	reply, err := c.http.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer reply.Body.Close()
	count, err := io.Copy(io.Discard, reply.Body)
	if err != nil {
		return 0, "", err
	}
	if reply.StatusCode/100 != 2 {
		return 0, "", fmt.Errorf("%s %s: status %d", method, url, reply.StatusCode)
	}
	if method == http.MethodPut {
		count = int64(len(body))
	}
	return count, reply.Header.Get("X-Amz-Version-Id"), nil
}

func (c *client) get(number int) (int64, error) {
	count, _, err := c.do(http.MethodGet, "/"+key(number), "", nil)
	if err == nil && count != int64(c.size) {
		return 0, fmt.Errorf("%s: %d bytes instead of %d", key(number), count, c.size)
	}
	return count, err
}

func (c *client) put(number int) (int64, string, error) {
	return c.do(http.MethodPut, "/"+key(number), "", c.body)
}
