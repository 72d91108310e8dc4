// Package image_test builds the images of docs/images.md for real, with buildah and without a network, and runs them with
// runc as the page says that they run: the gangrun image, a training image that copies from it, and a training image
// that gets it from an init container. The Dockerfile and the pod are those of the page. Only root can run these tests.
package image_test

import (
	"os"
	"testing"
	"time"

	"github.com/gangrun/gangrun/test/harness"
)

// limit is far more than any container here takes.
const limit = 60 * time.Second

func TestMain(m *testing.M) {
	harness.ClearEnvironment()
	code := m.Run()
	builder.close()
	os.Exit(code)
}
