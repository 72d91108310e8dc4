// Package gpu reads what nvidia-smi -q -x says of the GPUs.
package gpu

import (
	"regexp"
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

// Sick are the GPUs that want to be recovered, and how: "GPU 00000000:3B:00.0 wants Reset". None and N/A are no answer.
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
		if what := strings.TrimSpace(m[1]); what != "" && what != "None" && what != "N/A" {
			list = append(list, "GPU "+answer[at[2]:at[3]]+" wants "+what)
		}
	}
	return list
}
