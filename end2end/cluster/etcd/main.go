// Command etcd is the store of the end-to-end control plane. It is a module of its own because etcd's and
// Kubernetes' dependencies do not fit into one.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
