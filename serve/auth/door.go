// Package auth decides who may come in to a server that shows, and perhaps starts, what
// runs on this machine.
//
// Everything but scripts and styles needs a token, on loopback too: other users of the
// machine, and pages in its user's browser, reach loopback as well. There are two, made from
// one secret: who knows one may look, who knows the other may also act, where the server
// allows that at all. A browser keeps a cookie to look with. Cookies go to every port of a
// host, also to somebody else's server there; so a cookie never is a token, and whatever
// changes something needs the token itself, which the page's script keeps where only pages
// of this server can read it. A page elsewhere must not reach the server through its visitor's
// browser: the Host of every request must be an address that is served (a name that was made
// to point here is none), and whatever the browser says comes from a page of another server
// is answered by the door itself, so that nothing is read, built or begun for it. Requests,
// connections, streams and times are bounded, a handler that panics takes nothing else down,
// and what the browser may do with an answer is said by a strict Content-Security-Policy.
package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
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
	joinPath    = "/api/join"
)

// Role is what a visitor may do.
type Role string

// The roles. Nobody sees scripts and styles alone, and can show a token.
const (
	Nobody Role = "nobody"
	Look   Role = "look" // read, replay, and play a seat
	Act    Role = "act"  // also start, stop, tag and note, if the server has Control
)

// Config says who is let in.
type Config struct {
	Addr    string   // that is listened on, such as 127.0.0.1:8770
	Token   string   // of who may act; "": made
	Hosts   []string // other names under which the server may be asked for
	Control bool     // whether anything can be changed, started or stopped
	Log     func(format string, args ...any)
}

// Door lets requests in.
type Door struct {
	c    Config
	host string // of the address, in lower case; "": all of the machine
	act  string // the token of who may act
	look string // the token of who may look; it follows from the other, and not the other way
	wait patience

	mu      sync.Mutex
	streams map[string]int // by client
	open    int            // streams in all
}

// New reads the address and makes a token where none is given.
func New(c Config) (*Door, error) {
	host, _, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return nil, fmt.Errorf("the address %q: %w; want one such as 127.0.0.1:8770", c.Addr, err)
	}
	d := &Door{c: c, host: strings.ToLower(host), act: c.Token, wait: patient, streams: map[string]int{}}
	if ip, err := netip.ParseAddr(d.host); err == nil && ip.IsUnspecified() {
		d.host = ""
	}
	if c.Token != "" && len(c.Token) < shortest {
		return nil, fmt.Errorf("the token has %d letters, want at least %d; where none is given, a good one is made", len(c.Token), shortest)
	}
	if strings.ContainsFunc(c.Token, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`",;\`, r) }) {
		return nil, errors.New("the token holds a space, a quote, a comma, a semicolon, a backslash or a letter beyond ASCII: no cookie can")
	}
	d.c.Hosts = slices.Clone(c.Hosts)
	for i, h := range d.c.Hosts {
		d.c.Hosts[i] = strings.ToLower(h)
	}
	if d.act == "" {
		b := make([]byte, 32)
		if _, err := rand.Read(b); err != nil {
			return nil, fmt.Errorf("making a token: %w", err)
		}
		d.act = base64.RawURLEncoding.EncodeToString(b)
	}
	sum := sha256.Sum256([]byte("hop serve, who may look: " + d.act))
	d.look = base64.RawURLEncoding.EncodeToString(sum[:])
	if d.c.Log == nil {
		d.c.Log = func(string, ...any) {}
	}
	return d, nil
}

// Visit returns the address to open for a listener's, with the token of a role.
func (d *Door) Visit(addr net.Addr, as Role) string {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		host, port = addr.String(), ""
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		host = reachable()
	}
	token := d.look
	if as == Act {
		token = d.act
	}
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(host, port), Path: "/", RawQuery: url.Values{"token": {token}}.Encode()}
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
	sum := sha256.Sum256([]byte("the cookie of " + d.act))
	return "hop-" + hex.EncodeToString(sum[:4])
}

// pass is what the cookie of a role holds.
func (d *Door) pass(as Role) string {
	sum := sha256.Sum256([]byte("the pass of who may " + string(as) + ": " + d.act))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// knows returns the role of who knows a token.
func (d *Door) knows(token string) Role { return d.among(token, d.act, d.look) }

// among returns the role that a text stands for, in a time that says nothing about the others.
func (d *Door) among(text, ofAct, ofLook string) Role {
	got, act, look := sha256.Sum256([]byte(text)), sha256.Sum256([]byte(ofAct)), sha256.Sum256([]byte(ofLook))
	acts, looks := subtle.ConstantTimeCompare(got[:], act[:]), subtle.ConstantTimeCompare(got[:], look[:])
	switch {
	case acts == 1 && d.c.Control:
		return Act
	case acts|looks == 1:
		return Look
	}
	return Nobody
}

// patience is how long a client may take. A stream lasts as long as it likes; each of its
// writes must be taken in time.
type patience struct{ header, body, answer, slow, idle time.Duration }

var patient = patience{
	header: 5 * time.Second, body: 20 * time.Second, answer: 2 * time.Minute, slow: 20 * time.Second, idle: 2 * time.Minute,
}

// Server returns a server with the door's bounds, whose handler is wrapped already.
func (d *Door) Server(wrapped http.Handler) *http.Server {
	return &http.Server{
		Handler: wrapped, ReadHeaderTimeout: d.wait.header, ReadTimeout: d.wait.body, IdleTimeout: d.wait.idle, MaxHeaderBytes: maxHeader,
	}
}

// Listen returns the listener with as many connections at once as there may be.
func (d *Door) Listen(l net.Listener) net.Listener {
	return &bounded{Listener: l, places: make(chan struct{}, maxConns), over: make(chan struct{})}
}

// bounded is a listener that waits while too many connections are open.
type bounded struct {
	net.Listener
	places chan struct{}
	over   chan struct{}
	once   sync.Once
}

func (b *bounded) Accept() (net.Conn, error) {
	select {
	case b.places <- struct{}{}:
	case <-b.over:
		return nil, net.ErrClosed
	}
	c, err := b.Listener.Accept()
	if err != nil {
		<-b.places
		return nil, err
	}
	return &conn{Conn: c, gone: func() { <-b.places }}, nil
}

func (b *bounded) Close() error {
	b.once.Do(func() { close(b.over) })
	return b.Listener.Close()
}

type conn struct {
	net.Conn
	once sync.Once
	gone func()
}

func (c *conn) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.gone)
	return err
}
