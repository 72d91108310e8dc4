// Package torchrun knows what torchrun promises: its command line, its workers' environment and command, the
// directories of its logs and the report of a failure. All of it is pure: no processes, no clock, no global state.
//
// The rules are those of PyTorch 2.15 (torch/distributed/run.py and torch/distributed/elastic) and of the argparse of
// Python 3.11, which reads torchrun's command line. Where this package differs on purpose, its comments say so.
package torchrun
