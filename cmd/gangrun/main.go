// Command gangrun runs a distributed training job from inside its containers. See the README.
package main

import (
	"os"

	"github.com/gangrun/gangrun/cmd/gangrun/command"
)

func main() {
	os.Exit(command.Run(os.Args))
}
