package command

import (
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/gangrun/gangrun/observe/account"
	"github.com/gangrun/gangrun/observe/trainjob"
)

// hfProfile is the framework whose own callback tells Trainer how far it has come.
const hfProfile = "hf"

// trainJob says whether and where a TrainJob's status is reported to Kubeflow Trainer.
type trainJob struct {
	mode   string
	server trainjob.Config // without a URL: nobody is told
	alone  bool            // the callback of transformers is switched off
}

func (o *options) trainJobSetting() *setting {
	return &setting{
		name: "trainjob-progress", group: groupSeen, hint: "auto|on|off", standard: "auto", parse: choice(&o.trainJob.mode, "auto", "on", "off"),
		usage: "report step, time left, last checkpoint and restarts to Kubeflow Trainer v2, for the TrainJob's status; auto: where Trainer " +
			"asks for it and steps are reported, but not for transformers, which has a callback of its own",
	}
}

// findTrainJob reads where Trainer wants to be told.
func (o *options) findTrainJob(lookup func(string) (string, bool)) error {
	t := &o.trainJob
	if t.mode == "off" {
		return nil
	}
	var err error
	t.server, err = trainjob.Find(lookup)
	off, _ := lookup(trainjob.VariableOff)
	t.alone = strings.EqualFold(off, "true")
	switch {
	case t.mode == "on" && t.server.URL == "":
		return &configError{fmt.Sprintf("--trainjob-progress on: the variable %s is not set. Trainer v2 sets it in the pods of a "+
			"TrainJob if its feature gate TrainJobStatus is on", trainjob.VariableURL)}
	case t.mode == "on" && err != nil:
		return &configError{"--trainjob-progress on: " + err.Error()}
	case err != nil:
		t.server.URL = ""
		o.warnings = append(o.warnings, "the TrainJob's status will not tell how far it has come: "+err.Error())
	}
	return nil
}

// postsProgress returns the decision whether this node posts: the first node of the round does, and unless it was asked to,
// only if no callback does. Which framework it is shows in the output as it runs.
func (o *options) postsProgress() func(account.Summary) bool {
	self, heard := o.Node, o.Agent.Heard
	var transformers atomic.Bool
	transformers.Store(o.framework == hfProfile)
	o.SeenProfile = func(name string) {
		if name == hfProfile {
			transformers.Store(true)
		}
	}
	always, alone := o.trainJob.mode == "on", o.trainJob.alone
	return func(s account.Summary) bool {
		_, round := heard()
		if round == nil || len(round.Members) == 0 || round.Members[0].Name != self {
			return false
		}
		return always || s.Step != nil && (alone || !transformers.Load())
	}
}
