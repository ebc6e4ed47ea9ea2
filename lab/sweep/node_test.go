//go:build unix

package sweep_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"

	"github.com/nats-io/nats-server/v2/server"
)

// asNode has this test binary be one server of a cluster.
const asNode = "HOP_IS_A_NODE"

// node is a server of a cluster.
type node struct {
	Name          string
	Port, Cluster int
	Routes        []string
	Dir           string
}

// serveNode is a server until it is killed.
func serveNode(text string) {
	var n node
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		panic(err)
	}
	o := &server.Options{
		ServerName: n.Name, Host: "127.0.0.1", Port: n.Port, JetStream: true, StoreDir: n.Dir, SyncAlways: true, NoSigs: true,
		Cluster: server.ClusterOpts{Name: "hop", Host: "127.0.0.1", Port: n.Cluster},
	}
	for _, r := range n.Routes {
		u, err := url.Parse(r)
		if err != nil {
			panic(err)
		}
		o.Routes = append(o.Routes, u)
	}
	s, err := server.NewServer(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s.Start()
	s.WaitForShutdown()
	os.Exit(0)
}
