// Package etcdserver gives tests real etcd servers. They are processes of their own, so that they can be killed and
// stopped: the test program, started again, doing what etcd's own main would do.
package etcdserver

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"

	"go.etcd.io/etcd/server/v3/embed"
)

// serveVariable holds the Server that a test program is started as.
const serveVariable = "GANGRUN_TEST_ETCD_SERVER"

// Main has to be called at the beginning of the TestMain of whatever starts a cluster. In a process that was started as
// a server it serves, and does not return.
func Main() {
	spec := os.Getenv(serveVariable)
	if spec == "" {
		return
	}
	if err := serve(spec); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(spec string) error {
	var s Server
	if err := json.Unmarshal([]byte(spec), &s); err != nil {
		return err
	}
	c := embed.NewConfig()
	c.Name, c.Dir, c.InitialCluster = s.Name, s.Dir, s.Cluster
	c.ListenClientUrls, c.AdvertiseClientUrls = parsed(s.Client), parsed(s.Client)
	c.ListenPeerUrls, c.AdvertisePeerUrls = parsed(s.Peer), parsed(s.Peer)
	c.UnsafeNoFsync = true
	c.LogLevel = "error"
	c.BcryptCost = 4 // a login must not take seconds on a busy machine
	if s.CA != "" {
		c.ClientTLSInfo.TrustedCAFile, c.ClientTLSInfo.CertFile, c.ClientTLSInfo.KeyFile = s.CA, s.Cert, s.Key
		c.ClientTLSInfo.ClientCertAuth = true
	}
	if s.TokenTTL > 0 {
		c.AuthTokenTTL = s.TokenTTL
	}
	c.QuotaBackendBytes = s.Quota
	e, err := embed.StartEtcd(c)
	if err != nil {
		return err
	}
	<-e.Server.ReadyNotify()
	fmt.Println(ready)
	return <-e.Err()
}

// ready is what a server prints when it is.
const ready = "ready"

func parsed(text string) []url.URL {
	u, err := url.Parse(text)
	if err != nil {
		panic(err)
	}
	return []url.URL{*u}
}
