// Package hub is the server through which a sweep's coordinator and workers meet: NATS with
// JetStream, in the coordinator's own process, or one that somebody else runs.
package hub

import (
	"context"
	"crypto/tls"
	"crypto/x509"
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
	"github.com/nats-io/nkeys"

	"github.com/hop-marl/hop/num/disk"
)

// Config says which server.
type Config struct {
	Dir string // where the own server keeps what must not be lost

	// Listen is the address at which workers elsewhere reach the own server; empty: nobody
	// but this process does, and nothing listens.
	Listen   string
	Keys     *Keys  // who may come in, and as what
	Given    bool   // somebody chose the secret, and did not leave it to chance who has it
	Cert     string // files of a certificate and its key, for TLS
	Key      string
	ClientCA string // file of the authority that signed the workers' certificates; empty: they need none

	Most int64 // bytes that the own server may keep; 0: what the disk has
	Log  func(string)
}

// Hub is a server in this process.
type Hub struct {
	srv  *server.Server
	keys *Keys
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
	if c.ClientCA != "" && c.Cert == "" {
		return errors.New("sweep: --client-ca is for TLS; give --cert and --key, the server's own, as well")
	}
	switch {
	case !public || c.Given || c.ClientCA != "":
		return nil
	case c.Cert != "":
		return fmt.Errorf("sweep: --listen %s can be reached from other machines, and --cert says who the server is, not who may come in; "+
			"give --client-ca, the authority that signed the workers' certificates, or --token-file FILE (made if it is not there)", c.Listen)
	}
	return fmt.Errorf("sweep: --listen %s can be reached from other machines, and whoever comes in can do your jobs and hand in results; "+
		"give --token-file FILE (made if it is not there), or --cert, --key and --client-ca, or listen on 127.0.0.1", c.Listen)
}

// permissions are all that a worker may do on the server: ask the coordinator, and hear the answers. It reaches no
// stream, no state and no store itself.
func permissions() *server.Permissions {
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: []string{Who, Desk("*")}},
		Subscribe: &server.SubjectPermission{Allow: []string{inbox + ".>"}},
	}
}

// Who is where workers ask which sweeps there are, and Desk where they ask a sweep's coordinator for everything else.
const Who = "hop.who"

// Desk is the subject of a sweep's coordinator.
func Desk(sweep string) string { return "hop." + sweep + ".desk" }

// Workers hear answers below inbox, the coordinator below another word, which workers may not listen to.
const (
	inbox    = "_INBOX"
	ownInbox = "_HOP"
)

// users are who may come in.
func (k *Keys) users() ([]*server.NkeyUser, error) {
	coordinator, err := k.coordinator.PublicKey()
	worker, other := k.worker.PublicKey()
	return []*server.NkeyUser{{Nkey: coordinator}, {Nkey: worker, Permissions: permissions()}}, errors.Join(err, other)
}

// Start starts the own server and waits until it is ready.
func Start(c Config) (*Hub, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	users, err := c.Keys.users()
	if err != nil {
		return nil, err
	}
	o := &server.Options{
		ServerName: "hop", DontListen: true, JetStream: true, StoreDir: c.Dir, NoSigs: true, NoLog: true,
		SyncAlways: true, // a result is acknowledged when it is on the disk
		MaxPayload: 1 << 20, JetStreamMaxStore: c.Most, NoSystemAccount: true,
		AuthTimeout: 30, // a thousand workers may come at once
		Nkeys:       users,
	}
	if c.Listen != "" {
		host, port, _ := net.SplitHostPort(c.Listen)
		n, _ := strconv.Atoi(port)
		if n == 0 {
			n = server.RANDOM_PORT
		}
		o.DontListen, o.Host, o.Port = false, host, n
	}
	if c.Cert != "" {
		if o.TLSConfig, err = c.tls(); err != nil {
			return nil, err
		}
		o.TLS, o.TLSTimeout, o.TLSVerify = true, 30, c.ClientCA != ""
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
	return &Hub{srv: srv, keys: c.Keys}, nil
}

// tls is how the server shows who it is, and what it wants to be shown.
func (c Config) tls() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	if err != nil {
		return nil, fmt.Errorf("sweep: the certificate: %w", err)
	}
	conf := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if c.ClientCA == "" {
		return conf, nil
	}
	b, err := disk.Read(c.ClientCA, 1<<20)
	if err != nil {
		return nil, fmt.Errorf("sweep: --client-ca: %w", err)
	}
	conf.ClientCAs, conf.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !conf.ClientCAs.AppendCertsFromPEM(b) {
		return nil, fmt.Errorf("sweep: --client-ca %s holds no certificate", c.ClientCA)
	}
	return conf, nil
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

// Connect connects this process to it as the coordinator, without a network.
func (h *Hub) Connect() (*nats.Conn, error) {
	return nats.Connect("", append(lasting("hop"), nats.InProcessServer(h.srv), as(h.keys.coordinator), nats.CustomInboxPrefix(ownInbox))...)
}

// ConnectWorker connects this process to it as a worker, without a network.
func (h *Hub) ConnectWorker() (*nats.Conn, error) {
	return nats.Connect("", append(lasting("hop worker"), nats.InProcessServer(h.srv), as(h.keys.worker))...)
}

// as shows who one is by signing what the server asks: nothing goes over the network that would let a listener in.
func as(k nkeys.KeyPair) nats.Option {
	public, err := k.PublicKey()
	if err != nil {
		return func(*nats.Options) error { return err }
	}
	return nats.Nkey(public, k.Sign)
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

// Route is how to reach a server elsewhere.
type Route struct {
	Addr      string
	Name      string // who says so
	CA        string // file of the authority that signed the server's certificate
	Cert, Key string // files of the own certificate, if the server wants one
}

// Dial connects to a coordinator's own server with a worker's token, or to somebody else's with what that wants to hear.
func (r Route) Dial(t *Token) (*nats.Conn, error) {
	if len(t.Seed) == 0 {
		return r.DialOther(t.Server)
	}
	k, err := nkeys.FromSeed(t.Seed)
	if err != nil {
		return nil, fmt.Errorf("sweep: the worker's token is damaged: %w", err)
	}
	return r.dial(as(k))
}

// DialOther connects to somebody else's server: with a token, USER:PASSWORD, or nothing.
func (r Route) DialOther(secret string) (*nats.Conn, error) {
	user, password, both := strings.Cut(secret, ":")
	switch {
	case secret == "":
		return r.dial()
	case both:
		return r.dial(nats.UserInfo(user, password))
	}
	return r.dial(nats.Token(secret))
}

func (r Route) dial(more ...nats.Option) (*nats.Conn, error) {
	where := Without(r.Addr)
	if where != r.Addr {
		return nil, fmt.Errorf("sweep: --connect %s has a token in it, which everybody on this machine can read in the list of processes; "+
			"give --token-file FILE, or HOP_TOKEN in the environment", where)
	}
	o := append(lasting(r.Name), more...)
	if r.CA != "" {
		o = append(o, nats.RootCAs(r.CA))
	}
	if r.Cert != "" {
		o = append(o, nats.ClientCert(r.Cert, r.Key))
	}
	nc, err := nats.Connect(r.Addr, o...)
	switch {
	case err == nil:
		return nc, nil
	case errors.Is(err, nats.ErrAuthorization):
		return nil, fmt.Errorf("sweep: %s does not accept this token; hop sweep --listen prints which file its workers need (--token-file, or "+
			"what stands in it as HOP_TOKEN)", where)
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
