// Etcd36 is etcd 3.6, by its own main: a server of another release than the one that gangrun brings along.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
