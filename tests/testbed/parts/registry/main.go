// The registry with the one kind of storage that the testbed uses: the drivers of the clouds, which
// the registry's own main package brings along, are more than half of what there is to build.
package main

import (
	"os"

	"github.com/distribution/distribution/v3/registry"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem"
)

func main() {
	if registry.RootCmd.Execute() != nil {
		os.Exit(1)
	}
}
