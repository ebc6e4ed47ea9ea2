// Package door decides who may come in to a server that shows, and perhaps starts, what
// runs on this machine.
//
// On loopback everybody on the machine may read. Any other address needs a token, and what
// starts and stops processes needs it always. A page elsewhere must not reach the server
// through its visitor's browser: the Host of every request must be an address that is
// served (a name that was made to point here is none), and what changes something, and
// streams, must come from a page of the server itself. Requests, connections, streams and
// times are bounded, a handler that panics takes nothing else down, and what the browser
// may do with an answer is said by a strict Content-Security-Policy.
package door

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// The bounds. A page needs one stream; the rest is room for many tabs and people.
const (
	shortest    = 16      // letters of a token that is given
	maxAddress  = 8 << 10 // bytes of a request's address
	maxHeader   = 32 << 10
	maxBody     = 1 << 20
	maxConns    = 1024
	maxStreams  = 512 // in all
	maxEach     = 256 // of one client, which behind a proxy may be many people
	controlPath = "/api/control"
)

// Config says who is let in.
type Config struct {
	Addr    string   // that is listened on, such as 127.0.0.1:8770
	Token   string   // that visitors must know; "": made where one is needed
	Hosts   []string // other names under which the server may be asked for
	Control bool     // whether what starts and stops processes can be asked for
	Log     func(format string, args ...any)
}

// Door lets requests in.
type Door struct {
	c     Config
	host  string // of the address, in lower case; "": all of the machine
	local bool   // the address is loopback
	all   bool   // everything needs the token
	token string // "": none
	wait  patience

	mu      sync.Mutex
	streams map[string]int // by client
	open    int            // streams in all
}

// New reads the address and makes a token where one is needed and none is given.
func New(c Config) (*Door, error) {
	host, _, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return nil, fmt.Errorf("the address %q: %w; want one such as 127.0.0.1:8770", c.Addr, err)
	}
	d := &Door{c: c, host: strings.ToLower(host), token: c.Token, wait: patient, streams: map[string]int{}}
	d.local = d.host == "localhost"
	if ip, err := netip.ParseAddr(d.host); err == nil {
		d.local = ip.IsLoopback()
		if ip.IsUnspecified() {
			d.host = ""
		}
	}
	if c.Token != "" && len(c.Token) < shortest {
		return nil, fmt.Errorf("the token has %d letters, want at least %d; without --token a good one is made", len(c.Token), shortest)
	}
	if strings.ContainsFunc(c.Token, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`",;\`, r) }) {
		return nil, errors.New("the token holds a space, a quote, a comma, a semicolon, a backslash or a letter beyond ASCII: no cookie can")
	}
	d.c.Hosts = slices.Clone(c.Hosts)
	for i, h := range d.c.Hosts {
		d.c.Hosts[i] = strings.ToLower(h)
	}
	d.all = !d.local || c.Token != ""
	if d.token == "" && (d.all || c.Control) {
		b := make([]byte, 32)
		if _, err := rand.Read(b); err != nil {
			return nil, fmt.Errorf("making a token: %w", err)
		}
		d.token = base64.RawURLEncoding.EncodeToString(b)
	}
	if d.c.Log == nil {
		d.c.Log = func(string, ...any) {}
	}
	return d, nil
}

// Visit returns the address to open, with the token if there is one, for a listener's.
func (d *Door) Visit(addr net.Addr) string {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		host, port = addr.String(), ""
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		host = reachable()
	}
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(host, port), Path: "/"}
	if d.token != "" {
		u.RawQuery = url.Values{"token": {d.token}}.Encode()
	}
	return u.String()
}

// reachable returns an address of this machine that others can reach, if it has one.
func reachable() string {
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return n.IP.String()
		}
	}
	return "127.0.0.1"
}

// cookie is what the cookie is called: servers on other ports have others, because
// browsers keep cookies by host alone.
func (d *Door) cookie() string {
	sum := sha256.Sum256([]byte("the cookie of " + d.token))
	return "hop-" + hex.EncodeToString(sum[:4])
}

// knows compares a text with the token, in a time that says nothing about either.
func (d *Door) knows(text string) bool {
	got, want := sha256.Sum256([]byte(text)), sha256.Sum256([]byte(d.token))
	return d.token != "" && subtle.ConstantTimeCompare(got[:], want[:]) == 1
}
