package hub

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"github.com/nats-io/nkeys"

	"github.com/hop-marl/hop/num/disk"
)

// Keys are a coordinator's: everything follows from one secret, which no worker has.
type Keys struct {
	Sign        ed25519.PrivateKey // what the coordinator says to workers is signed with it
	Seal        []byte             // what it leaves with a server is sealed with it
	coordinator nkeys.KeyPair      // with which it comes in
	worker      nkeys.KeyPair      // with which workers do
	hello       []byte             // with which workers show that they have a token
}

// Token is what a worker has: it lets it in, and tells it who its coordinator is.
type Token struct {
	Seed        []byte            `json:"seed,omitempty"`   // of the key with which it comes in to the coordinator's own server
	Hello       []byte            `json:"hello"`            // shows the coordinator that it has a token, whoever's server it is
	Coordinator ed25519.PublicKey `json:"coordinator"`      // whose word it takes
	Server      string            `json:"server,omitempty"` // what somebody else's server wants to hear
}

// shortest is how many letters a secret has at least: whoever has a worker's token can try all that are shorter.
const shortest = 20

// NewSecret makes a coordinator's secret.
func NewSecret() string { return rand.Text() + rand.Text() }

// Derive makes a coordinator's keys of its secret.
func Derive(secret string) (*Keys, error) {
	if strings.HasPrefix(secret, tokenHead) {
		return nil, errors.New("sweep: that is a worker's token, and a coordinator needs a secret of its own; without one it makes it")
	}
	if len(secret) < shortest {
		return nil, fmt.Errorf("sweep: the coordinator's secret has %d letters, want at least %d; without one it makes a good one",
			len(secret), shortest)
	}
	part := func(what string) []byte {
		m := hmac.New(sha256.New, []byte(secret))
		m.Write([]byte("hop sweep " + what))
		return m.Sum(nil)
	}
	k := &Keys{Sign: ed25519.NewKeyFromSeed(part("signature")), Seal: part("seal"), hello: part("hello")}
	var err, other error
	k.coordinator, err = nkeys.FromRawSeed(nkeys.PrefixByteUser, part("coordinator"))
	k.worker, other = nkeys.FromRawSeed(nkeys.PrefixByteUser, part("worker"))
	return k, errors.Join(err, other)
}

// Token is what workers need to come in to the coordinator's own server.
func (k *Keys) Token() (*Token, error) {
	t := k.OtherToken("")
	var err error
	t.Seed, err = k.worker.Seed()
	return t, err
}

// OtherToken is what they need on somebody else's, which wants to hear a secret.
func (k *Keys) OtherToken(server string) *Token {
	return &Token{Hello: k.hello, Coordinator: k.Sign.Public().(ed25519.PublicKey), Server: server}
}

// Hello is what workers show.
func (k *Keys) Hello() []byte { return k.hello }

const tokenHead = "hop-worker-"

// String writes a token on one line.
func (t *Token) String() string {
	b, err := json.Marshal(t)
	if err != nil {
		panic(err) // bytes and a string
	}
	return tokenHead + base64.RawURLEncoding.EncodeToString(b)
}

// ParseToken reads a worker's token.
func ParseToken(text string) (*Token, error) {
	rest, ok := strings.CutPrefix(text, tokenHead)
	if !ok {
		return nil, errors.New("sweep: that is no worker's token: hop sweep writes one into its folder, " + WorkerFile + " (the coordinator's " +
			"secret stays with the coordinator)")
	}
	b, err := base64.RawURLEncoding.DecodeString(rest)
	t := &Token{}
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(b))
		d.DisallowUnknownFields()
		err = d.Decode(t)
	}
	if err != nil || len(t.Coordinator) != ed25519.PublicKeySize || len(t.Hello) != sha256.Size {
		return nil, errors.New("sweep: the worker's token is damaged; copy all of " + WorkerFile + " again")
	}
	return t, nil
}

// WorkerFile is where a sweep's folder has its workers' token.
const WorkerFile = "worker.token"

// most is how long a token may be.
const most = 64 << 10

// ReadToken reads what stands in a file that nobody else may read.
func ReadToken(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	if open := info.Mode().Perm() & 0o077; open != 0 && runtime.GOOS != "windows" {
		return "", fmt.Errorf("sweep: others can read %s (mode %o), and whoever has the token can come in; chmod 600 %[1]s", name,
			info.Mode().Perm())
	}
	b, err := disk.Read(name, most)
	text := strings.TrimSpace(string(b))
	if err == nil && text == "" {
		err = fmt.Errorf("sweep: %s is empty; want a token in it", name)
	}
	return text, err
}

// Keep returns the secret of a file, and makes one there if there is no file.
func Keep(name string) (string, error) {
	text, err := ReadToken(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return text, err
	}
	text = NewSecret()
	return text, disk.WriteSecret(name, []byte(text+"\n"))
}
