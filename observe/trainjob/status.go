package trainjob

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/observe/account"
)

// Status is the part of a TrainJob's status that its pods may set, as trainer.kubeflow.org/v1alpha1 has it: percent, and
// seconds.
type Status struct {
	Progress  *int32   `json:"progressPercentage,omitempty"`
	Remaining *int32   `json:"estimatedRemainingSeconds,omitempty"`
	Metrics   []Metric `json:"metrics,omitempty"`
}

// Metric is a figure of the training run. Trainer takes names and values of up to 64 bytes.
type Metric struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

const mostText = 64 // bytes of a name or a value; a longer one has the whole status refused

// Of is what there is to say of a run. The first two metrics are called what the callback of transformers calls them,
// so that whoever reads one reads the other.
func Of(s account.Summary) Status {
	var out Status
	number := func(name string, n *int64) {
		if n != nil {
			out.Metrics = append(out.Metrics, Metric{name, strconv.FormatInt(*n, 10)})
		}
	}
	number("current_step", s.Step)
	number("total_steps", s.Steps)
	if s.Checkpoint != nil {
		number("checkpoint_step", &s.Checkpoint.Step)
	}
	restarts := int64(s.Restarts.Total + s.Restarts.Preemptions)
	number("restarts", &restarts)
	if n := len(s.Disruptions); n > 0 && s.Disruptions[n-1].Reason != "" {
		if reason := s.Disruptions[n-1].Reason; len(reason) <= mostText {
			out.Metrics = append(out.Metrics, Metric{"last_interruption", reason})
		}
	}
	if s.Outcome != nil && s.Outcome.Verdict == exitcodes.Success {
		out.Progress, out.Remaining = new(int32(100)), new(int32(0))
		return out
	}
	if s.Steps != nil && *s.Steps > 0 && s.Step != nil {
		// 100 is what a run says that has succeeded.
		out.Progress = new(int32(min(99, float64(*s.Step)/float64(*s.Steps)*100)))
	}
	if s.Remaining != nil && s.Phase == account.Running {
		out.Remaining = new(int32(max(0, min(*s.Remaining, math.MaxInt32)))) // anything else has the whole status refused
	}
	return out
}

// body is the request that sets the status. Trainer refuses one that does not say when it was observed.
func body(s Status, at time.Time) []byte {
	var request struct {
		TrainerStatus struct {
			Status
			At string `json:"lastUpdatedTime"`
		} `json:"trainerStatus"`
	}
	request.TrainerStatus.Status = s
	request.TrainerStatus.At = at.UTC().Format(time.RFC3339)
	out, err := json.Marshal(request)
	if err != nil {
		panic(err) // numbers and strings
	}
	return out
}
