package report

import "github.com/gangrun/gangrun/observe/account"

// Words are the same numbers in the words that others know, as far as they mean the same.
type Words struct {
	// Google are those of ml-goodput-measurement.
	Google map[string]float64 `json:"mlGoodputMeasurement"`
	// NVIDIA are those of its Cluster Readiness Engine.
	NVIDIA map[string]float64 `json:"nvidia"`
}

func (r *Report) words() Words {
	w := Words{
		Google: map[string]float64{
			"GOODPUT":                                 r.Productive,
			"UNPRODUCTIVE_CHECKPOINT_SAVE_TIME":       r.Badput[account.CheckpointSave],
			"PROGRAM_STARTUP":                         r.Badput[account.Startup],
			"WASTED_PROGRESS_FROM_DISRUPTION":         r.Badput[account.LostProgress],
			"INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION": 0,
			"OTHER": r.Badput[account.Other] + r.Badput[account.Unknown],
		},
		NVIDIA: map[string]float64{
			"trainingTimeSec": r.Training, "lostWorkTimeSec": r.Badput[account.LostProgress],
			"interruptionCount": float64(len(r.Disruptions)), "avgStepTimeSec": r.StepTime,
		},
	}
	for _, source := range []account.Source{account.Detection, account.Stop, account.Rendezvous, account.Idle} {
		w.Google["INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION"] += r.Badput[source]
	}
	if r.Step != nil {
		w.NVIDIA["currentStep"], w.NVIDIA["highestStep"] = float64(*r.Step), float64(*r.StepMax)
	}
	for _, words := range []map[string]float64{w.Google, w.NVIDIA} {
		for name, v := range words {
			words[name] = round(v)
		}
	}
	return w
}

// googles is what ml-goodput-measurement calls a source, for people.
var googles = map[account.Source]string{
	account.Startup: "PROGRAM_STARTUP", account.CheckpointSave: "UNPRODUCTIVE_CHECKPOINT_SAVE_TIME",
	account.LostProgress: "WASTED_PROGRESS_FROM_DISRUPTION",
	account.Detection:    "INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION",
	account.Stop:         "INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION",
	account.Rendezvous:   "INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION", account.Idle: "INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION",
	account.Other: "OTHER", account.Unknown: "OTHER",
}
