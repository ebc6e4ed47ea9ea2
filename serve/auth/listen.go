package auth

import (
	"net"
	"net/http"
	"sync"
	"time"
)

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
