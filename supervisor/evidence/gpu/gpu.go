// Package gpu reads what nvidia-smi -q -x says of the GPUs.
package gpu

import (
	"regexp"
	"slices"
	"strings"
)

// The command and how much of its answer is read, in bytes.
const (
	Command = "nvidia-smi"
	Most    = 1 << 20
)

var (
	head     = regexp.MustCompile(`<gpu id="([^"]{1,64})">`)
	recovery = regexp.MustCompile(`<gpu_recovery_action>([^<]{1,64})</gpu_recovery_action>`)
)

// unanswered are words of what nvidia-smi prints where it has no answer: [N/A], Not Supported, [Unknown Error],
// [Insufficient Permissions], [Requested functionality has been deprecated], ERR!.
var unanswered = []string{"N/A", "Not ", "Unknown", "Permission", "deprecated", "ERR!"}

// Asks reports whether a gpu_recovery_action asks for something to be done before the GPU is used again. A driver without
// an answer does not.
func Asks(action string) bool {
	action = strings.TrimSpace(action)
	return action != "" && !strings.EqualFold(action, "None") &&
		!slices.ContainsFunc(unanswered, func(words string) bool { return strings.Contains(action, words) })
}

// Sick are the GPUs that want to be recovered, and how: "GPU 00000000:3B:00.0 wants Reset".
func Sick(answer string) (list []string) {
	heads := head.FindAllStringSubmatchIndex(answer, -1)
	for i, at := range heads {
		end := len(answer)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		m := recovery.FindStringSubmatch(answer[at[1]:end])
		if m == nil {
			continue
		}
		if what := strings.TrimSpace(m[1]); Asks(what) {
			list = append(list, "GPU "+answer[at[2]:at[3]]+" wants "+what)
		}
	}
	return list
}
