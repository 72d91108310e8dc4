// Command gangrun runs a distributed training job from inside its containers. See the README.
//
// It is built in two ways. "go build" makes the whole program. The Makefile makes the one that is shipped: a program
// without etcd, with the tag slim, that carries the whole one in it as data. To link etcd's client and server, with
// their hundreds of metrics and message types, makes every start three times as long and takes 15 MB of memory, though
// most runs are of one node and need neither. Where a store outside the process turns out to be needed, before anything
// was done, the slim program becomes the whole one.
package main
