package hub

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Listening where other machines can come wants somebody to have said who may.
func TestListeningBeyondLoopbackNeedsATokenOrClientCertificates(t *testing.T) {
	for _, row := range []struct {
		c    Config
		want string // of the error; empty: none
	}{
		{Config{Listen: "127.0.0.1:0"}, ""},
		{Config{Listen: "localhost:0"}, ""},
		{Config{Listen: "[::1]:0"}, ""},
		{Config{Listen: "0.0.0.0:0"}, "give --token-file FILE"},
		{Config{Listen: ":0"}, "give --token-file FILE"},
		{Config{Listen: "node1:0"}, "give --token-file FILE"},
		{Config{Listen: "localhost.evil.example:0"}, "give --token-file FILE"},
		{Config{Listen: "0.0.0.0:0", Given: true}, ""},
		{Config{Listen: "0.0.0.0:0", Cert: "c", Key: "k"}, "--cert says who the server is, not who may come in"},
		{Config{Listen: "0.0.0.0:0", Cert: "c", Key: "k", ClientCA: "a"}, ""},
		{Config{Listen: "0.0.0.0:0", ClientCA: "a"}, "--client-ca is for TLS"},
		{Config{Listen: "127.0.0.1:0", Cert: "c"}, "go together"},
		{Config{Listen: "127.0.0.1:99999"}, "no port"},
	} {
		err := row.c.Validate()
		if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%+v: %v, want %q", row.c, err, row.want)
		}
	}
}

// authority signs certificates.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) authority {
	t.Helper()
	a := authority{t: t, dir: t.TempDir()}
	a.cert, a.key = a.sign(name, nil)
	return a
}

// sign writes NAME.crt and NAME.key into the folder; signed by itself if there is no authority yet.
func (a authority) sign(name string, usage []x509.ExtKeyUsage) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(a.t, err)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: usage, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true,
		IsCA: a.cert == nil, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	parent, by := a.cert, a.key
	if parent == nil {
		parent, by = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), by)
	must(a.t, err)
	private, err := x509.MarshalECPrivateKey(key)
	must(a.t, err)
	must(a.t, os.WriteFile(a.path(name+".crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644))
	must(a.t, os.WriteFile(a.path(name+".key"), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}), 0o600))
	c, err = x509.ParseCertificate(der)
	must(a.t, err)
	return c, key
}

func (a authority) path(name string) string { return filepath.Join(a.dir, name) }

// With --client-ca a worker shows a certificate of that authority, and has a token besides.
func TestClientCertificatesAreAskedFor(t *testing.T) {
	ca, other := newAuthority(t, "ca"), newAuthority(t, "ca")
	ca.sign("server", []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth})
	ca.sign("worker", []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth})
	other.sign("worker", []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth})
	keys, err := Derive(NewSecret())
	must(t, err)
	h, err := Start(Config{Dir: t.TempDir(), Keys: keys, Listen: "127.0.0.1:0", Cert: ca.path("server.crt"), Key: ca.path("server.key"),
		ClientCA: ca.path("ca.crt")})
	must(t, err)
	defer h.Stop()
	own, err := h.Connect() // this process needs none
	must(t, err)
	own.Close()
	good, err := keys.Token()
	must(t, err)
	r := Route{Addr: "tls://" + h.Addr(), CA: ca.path("ca.crt"), Cert: ca.path("worker.crt"), Key: ca.path("worker.key")}
	nc, err := r.Dial(good)
	must(t, err)
	nc.Close()
	strange := r
	strange.Cert, strange.Key = other.path("worker.crt"), other.path("worker.key")
	none := r
	none.Cert, none.Key = "", ""
	for name, try := range map[string]func() error{
		"no certificate":                func() error { _, err := none.Dial(good); return err },
		"another authority's":           func() error { _, err := strange.Dial(good); return err },
		"a certificate without a token": func() error { _, err := r.DialOther(""); return err },
	} {
		if try() == nil {
			t.Errorf("%s: it is in", name)
		}
	}
}

// A secret is kept in a file that only the user reads, and one that others can read is refused.
func TestASecretIsForItsUserAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes of unix")
	}
	name := filepath.Join(t.TempDir(), "secret")
	a, err := Keep(name)
	must(t, err)
	b, err := Keep(name)
	must(t, err)
	info, err := os.Stat(name)
	must(t, err)
	if a != b || len(a) < 2*shortest || info.Mode().Perm() != 0o600 {
		t.Errorf("%q, then %q, mode %v", a, b, info.Mode())
	}
	must(t, os.Chmod(name, 0o640))
	if _, err := Keep(name); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("others can read it: %v", err)
	}
}

// A worker's token does not make a coordinator, nor a coordinator's secret a worker; and a token in an address is refused.
func TestTokensAreWhatTheyAre(t *testing.T) {
	keys, err := Derive("a secret of twenty letters")
	must(t, err)
	token, err := keys.Token()
	must(t, err)
	back, err := ParseToken(token.String())
	if err != nil || back.String() != token.String() {
		t.Errorf("%v, %v", back, err)
	}
	if strings.Contains(token.String(), "secret") || string(back.Seed) == "" {
		t.Error("the token holds the secret")
	}
	if _, err := Derive(token.String()); err == nil {
		t.Error("a worker's token makes a coordinator")
	}
	if _, err := Derive("short"); err == nil {
		t.Error("a secret that can be guessed is taken")
	}
	for _, text := range []string{"", "a secret of twenty letters", token.String()[:40], token.String() + "x", tokenHead + "e30", tokenHead} {
		if _, err := ParseToken(text); err == nil {
			t.Errorf("%q is a worker's token", text)
		}
	}
	for _, addr := range []string{"nats://token@127.0.0.1:1", "nats://a:b@127.0.0.1:1,nats://127.0.0.1:2"} {
		_, err := Route{Addr: addr}.Dial(token)
		if err == nil || !strings.Contains(err.Error(), "list of processes") || strings.Contains(err.Error(), "token@") {
			t.Errorf("%s: %v", addr, err)
		}
	}
}
