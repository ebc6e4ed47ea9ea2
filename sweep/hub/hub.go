// Package hub is the server through which a sweep's coordinator and workers meet: NATS with
// JetStream, in the coordinator's own process, or one that somebody else runs.
package hub

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Config says which server.
type Config struct {
	Dir string // where the own server keeps what must not be lost

	// Listen is the address at which workers elsewhere reach the own server; empty: nobody
	// but this process does, and nothing listens.
	Listen string
	Token  string // what workers must say
	Cert   string // files of a certificate and its key, for TLS
	Key    string

	Most int64 // bytes that the own server may keep; 0: what the disk has
	Log  func(string)
}

// Hub is a server in this process.
type Hub struct {
	srv   *server.Server
	token string
}

// Public reports whether an address can be reached from other machines.
func Public(addr string) (bool, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false, fmt.Errorf("sweep: the address %q: %w; want HOST:PORT, such as 127.0.0.1:4222 or 0.0.0.0:4222", addr, err)
	}
	if host == "localhost" {
		return false, nil
	}
	ip := net.ParseIP(host)
	return ip == nil || !ip.IsLoopback(), nil
}

// Validate returns what is wrong with it.
func (c Config) Validate() error {
	if (c.Cert == "") != (c.Key == "") {
		return errors.New("sweep: --cert and --key go together")
	}
	if c.Listen == "" {
		if c.Cert != "" {
			return errors.New("sweep: --cert is for --listen, and nothing listens")
		}
		return nil
	}
	public, err := Public(c.Listen)
	if err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(c.Listen)
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("sweep: --listen %s has no port that is a number", c.Listen)
	}
	if public && c.Token == "" && c.Cert == "" {
		return fmt.Errorf("sweep: --listen %s can be reached from other machines, and whoever reaches it can run commands on your workers; "+
			"give --token or --cert and --key, or listen on 127.0.0.1", c.Listen)
	}
	return nil
}

// Start starts the own server and waits until it is ready.
func Start(c Config) (*Hub, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	o := &server.Options{
		ServerName: "hop", DontListen: true, JetStream: true, StoreDir: c.Dir, NoSigs: true, NoLog: true,
		SyncAlways: true, // a result is acknowledged when it is on the disk
		MaxPayload: 1 << 20, JetStreamMaxStore: c.Most, NoSystemAccount: true,
		AuthTimeout: 30, // a thousand workers may come at once
	}
	if c.Listen != "" {
		host, port, _ := net.SplitHostPort(c.Listen)
		n, _ := strconv.Atoi(port)
		if n == 0 {
			n = server.RANDOM_PORT
		}
		o.DontListen, o.Host, o.Port, o.Authorization = false, host, n, c.Token
	}
	if c.Cert != "" {
		pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
		if err != nil {
			return nil, fmt.Errorf("sweep: the certificate: %w", err)
		}
		o.TLSConfig, o.TLS, o.TLSTimeout = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, true, 30
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return nil, err
	}
	srv, err := server.NewServer(o)
	if err != nil {
		return nil, fmt.Errorf("sweep: starting the engine: %w", err)
	}
	if c.Log != nil {
		srv.SetLoggerV2(logger(c.Log), false, false, false)
	}
	srv.Start()
	if !srv.ReadyForConnections(30 * time.Second) {
		srv.Shutdown()
		return nil, fmt.Errorf("sweep: the engine did not start within 30 s; is %s free, and %s on a disk with room?", c.Listen, c.Dir)
	}
	if !srv.JetStreamEnabled() {
		srv.Shutdown()
		return nil, fmt.Errorf("sweep: the engine cannot keep its data in %s; is there room on that disk?", c.Dir)
	}
	return &Hub{srv: srv, token: c.Token}, nil
}

// Addr is where workers reach it; empty if nothing listens.
func (h *Hub) Addr() string {
	if a, ok := h.srv.Addr().(*net.TCPAddr); ok {
		return a.String()
	}
	return ""
}

// Refused counts the connections that were turned away so far, by why: no token or a wrong one, no TLS, or what
// does not speak the protocol. (Most of that ends as not authorised: a server with a token reads nothing
// before it.) It is what the server remembers, the last ten thousand.
func (h *Hub) Refused() map[string]int {
	closed, err := h.srv.Connz(&server.ConnzOptions{State: server.ConnClosed, Limit: 10000})
	if err != nil {
		return nil
	}
	by := map[string]int{}
	for _, c := range closed.Conns {
		switch why := c.Reason; {
		case strings.Contains(why, "Authentication"):
			by["not authorised"]++
		case strings.Contains(why, "TLS"):
			by["no TLS"]++
		case strings.Contains(why, "Protocol"), strings.Contains(why, "Parse"), strings.Contains(why, "Maximum"), strings.Contains(why, "Wrong"):
			by["not the protocol"]++
		}
	}
	return by
}

// OnFull calls f once if the server stops keeping data, as it does when its disk is full.
func (h *Hub) OnFull(ctx context.Context, f func()) {
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if h.srv.Running() && !h.srv.JetStreamEnabled() {
					f()
					return
				}
			}
		}
	}()
}

// Connect connects this process to it, without a network.
func (h *Hub) Connect() (*nats.Conn, error) {
	return nats.Connect("", append(lasting("hop"), nats.InProcessServer(h.srv), nats.Token(h.token))...)
}

// Stop ends it; what must not be lost is on the disk at any time.
func (h *Hub) Stop() {
	h.srv.Shutdown()
	h.srv.WaitForShutdown()
}

// lasting are the options of a connection that outlives partitions.
func lasting(name string) []nats.Option {
	return []nats.Option{
		nats.Name(name), nats.MaxReconnects(-1), nats.ReconnectWait(500 * time.Millisecond),
		nats.ReconnectJitter(200*time.Millisecond, time.Second),
		nats.PingInterval(10 * time.Second), nats.MaxPingsOutstanding(2), nats.Timeout(30 * time.Second), nats.RetryOnFailedConnect(false),
	}
}

// Dial connects to a server elsewhere. The token may be in the address, nats://TOKEN@HOST:PORT.
func Dial(addr, name, token, ca string) (*nats.Conn, error) {
	o := lasting(name)
	if token != "" {
		o = append(o, nats.Token(token))
	}
	if ca != "" {
		o = append(o, nats.RootCAs(ca))
	}
	nc, err := nats.Connect(addr, o...)
	if err == nil {
		return nc, nil
	}
	where := Without(addr)
	switch {
	case errors.Is(err, nats.ErrAuthorization):
		return nil, fmt.Errorf("sweep: %s does not accept this token; it wants the one that hop sweep --listen was given (--token, or HOP_TOKEN)",
			where)
	case errors.Is(err, nats.ErrNoServers):
		return nil, fmt.Errorf("sweep: nobody answers at %s; is hop sweep --listen running there, and the port open?", where)
	}
	return nil, fmt.Errorf("sweep: connecting to %s: %w", where, err)
}

// Without returns an address without the token in it, to be shown.
func Without(addr string) string {
	list := strings.Split(addr, ",")
	for i, a := range list {
		if u, err := url.Parse(strings.TrimSpace(a)); err == nil && u.User != nil {
			u.User = nil
			list[i] = u.String()
		}
	}
	return strings.Join(list, ",")
}

// logger hands on what the server has to complain about.
type logger func(string)

func (l logger) Noticef(string, ...any)            {}
func (l logger) Debugf(string, ...any)             {}
func (l logger) Tracef(string, ...any)             {}
func (l logger) Warnf(format string, args ...any)  { l(fmt.Sprintf(format, args...)) }
func (l logger) Errorf(format string, args ...any) { l(fmt.Sprintf(format, args...)) }
func (l logger) Fatalf(format string, args ...any) { l(fmt.Sprintf(format, args...)) }
