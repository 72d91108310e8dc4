package rendezvous

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/internal/words"
)

// Checkpoints is what a node says about the checkpoints that it can read.
type Checkpoints struct {
	// Asked is the SinceSeq of the newest phase of the job before whose begin nothing of this was seen: a round is formed
	// on what was seen after the last worker had ended.
	Asked int64 `json:"asked"`
	// Steps are those of the complete ones that may be resumed from, newest first, and Unit what they count: "epoch", or
	// nothing for steps.
	Steps []int64 `json:"steps"`
	Unit  string  `json:"unit,omitempty"`
	// Identities stand for the content of those that say no step, newest first. They count where there are no steps.
	Identities []string `json:"identities,omitempty"`
	// Reached is the highest step of which this run has had a complete one on this node.
	Reached *int64 `json:"reached,omitempty"`
	// Cut is the step of the first save of this run, where that was cut on this node: nothing else is there.
	Cut *int64 `json:"cut,omitempty"`
	// Problem says why the node cannot tell what is there; the rest means nothing then.
	Problem string `json:"problem,omitempty"`
	// Veto says why nothing may be started at all.
	Veto string `json:"veto,omitempty"`
}

// When a job has to resume from a checkpoint.
const (
	RequireNever    = "never"    // start over where none is left
	RequireProgress = "progress" // where there has been one; the default
	RequireAlways   = "always"
)

// ResumePolicy is what the nodes of a job agree on about checkpoints. Its zero value is that of a job that has none to
// look at.
type ResumePolicy struct {
	Look         bool   `json:"look,omitempty"` // the nodes look for checkpoints
	Own          bool   `json:"own,omitempty"`  // the training finds its state itself: nothing is refused, and nobody waited for
	Require      string `json:"require,omitempty"`
	MaxLostSteps int64  `json:"maxLostSteps,omitempty"` // steps that may be lost by going back; 0 is no limit
	MinProgress  int64  `json:"minProgress,omitempty"`  // steps by which a checkpoint has to be newer to count
}

func (p ResumePolicy) check() error {
	switch {
	case p.Require != "" && p.Require != RequireNever && p.Require != RequireProgress && p.Require != RequireAlways:
		return fmt.Errorf("spec: resume.require %q, want never, progress or always", p.Require)
	case p.MaxLostSteps < 0 || p.MinProgress < 0:
		return fmt.Errorf("spec: resume %+v, want no negative number", p)
	}
	return nil
}

// unasked lists the nodes that have yet to say what checkpoints there are now, and what one of them says about it.
func (t *turn) unasked(nodes []named) (waiting []string, why string) {
	if !t.job.Spec.Resume.Look {
		return nil, ""
	}
	for _, n := range nodes {
		switch c := n.Checkpoints; {
		case c == nil || c.Asked < t.job.SinceSeq || c.Asked > t.job.Seq: // or it is about another record
			waiting = append(waiting, n.name)
		case c.Problem != "" && !t.job.Spec.Resume.Own:
			waiting, why = append(waiting, n.name), n.name+": "+c.Problem
		}
	}
	return waiting, why
}

// common lists the checkpoint steps that all of the nodes can read, newest first.
func common(nodes []named) (steps []int64) {
	count := make(map[int64]int)
	for _, n := range nodes {
		if n.Checkpoints == nil || n.Checkpoints.Unit != nodes[0].Checkpoints.Unit {
			return nil
		}
		own := slices.Clone(n.Checkpoints.Steps)
		slices.Sort(own)
		for _, step := range slices.Compact(own) {
			count[step]++
		}
	}
	for step, n := range count {
		if n == len(nodes) {
			steps = append(steps, step)
		}
	}
	slices.Sort(steps)
	slices.Reverse(steps)
	return steps
}

// identity is the content of the newest checkpoint without a step that all of the nodes have, empty when there is none.
func identity(nodes []named) string {
	if len(nodes) == 0 || nodes[0].Checkpoints == nil {
		return ""
	}
	for _, id := range nodes[0].Checkpoints.Identities {
		if !slices.ContainsFunc(nodes, func(n named) bool {
			return n.Checkpoints == nil || len(n.Checkpoints.Steps) > 0 || !slices.Contains(n.Checkpoints.Identities, id)
		}) {
			return id
		}
	}
	return ""
}

// reached is the highest step of which all nodes have had a complete checkpoint, as far as they know. A node that has
// just come knows nothing, and says nothing against it; one on which the first save was cut has had none.
func reached(earlier *int64, nodes []named) *int64 {
	var lowest *int64
	if firstCut(nodes) != "" {
		return earlier
	}
	gone := false
	for _, n := range nodes {
		if c := n.Checkpoints; c != nil && c.Reached != nil {
			if lowest == nil || *c.Reached < *lowest {
				lowest = c.Reached
			}
			gone = gone || !slices.Contains(c.Steps, *c.Reached)
		}
	}
	// Where each still has the highest of its own, nothing is gone, and more than what is common was never common: one whose
	// disk is full saves every other step.
	if steps := common(nodes); !gone && len(steps) > 0 {
		lowest = &steps[0]
	}
	if lowest == nil || earlier != nil && *earlier > *lowest {
		return earlier
	}
	return lowest
}

// chooseResume picks the one checkpoint that a round starts from: the newest that all members have or, after the same
// failure twice, the one before it. It is an error when training had come further than what is left: a silent start
// from further back, or from nothing, is worse than an end.
func (t *turn) chooseResume(nodes []named) (Resume, error) {
	policy, steps := t.job.Spec.Resume, common(nodes)
	if !policy.Look {
		return Resume{Decision: ResumeFresh}, nil
	}
	if policy.Require != RequireNever && !policy.Own {
		if err := t.lost(policy, nodes, steps); err != nil {
			return Resume{}, err
		}
	}
	if len(steps) == 0 {
		if id := identity(nodes); id != "" {
			return Resume{Decision: ResumeNewest, Identity: id}, nil
		}
		return Resume{Decision: ResumeFresh, Why: firstCut(nodes)}, nil
	}
	unit := nodes[0].Checkpoints.Unit
	if t.job.Fallback && len(steps) > 1 {
		return Resume{Decision: ResumeFallback, Step: &steps[1], Unit: unit}, nil
	}
	return Resume{Decision: ResumeNewest, Step: &steps[0], Unit: unit}, nil
}

// firstCut says that the first save of all was cut, where each node keeps its own checkpoints: some have it whole and
// nothing else, and the others a part of it and nothing else. Empty where it is not so.
func firstCut(nodes []named) string {
	var whole, cut []string
	var step int64
	for _, n := range nodes {
		switch c := n.Checkpoints; {
		case c == nil || len(c.Identities) > 0:
			return ""
		case len(c.Steps) == 1 && (len(whole)+len(cut) == 0 || c.Steps[0] == step):
			whole, step = append(whole, n.name), c.Steps[0]
		case len(c.Steps) == 0 && c.Cut != nil && (len(whole)+len(cut) == 0 || *c.Cut == step):
			cut, step = append(cut, n.name), *c.Cut
		default:
			return ""
		}
	}
	if len(whole) == 0 || len(cut) == 0 {
		return ""
	}
	return fmt.Sprintf("the first save, of step %d, was cut on %s, and there is none before it", step, words.Few(cut))
}

// lost says what would be lost by starting from what all nodes have.
func (t *turn) lost(policy ResumePolicy, nodes []named, steps []int64) error {
	const what = "complete checkpoint common to all nodes"
	before := t.job.Reached
	if len(steps) == 0 {
		has := func(n named) bool {
			return n.Checkpoints != nil && len(n.Checkpoints.Steps)+len(n.Checkpoints.Identities) > 0
		}
		switch {
		case identity(nodes) != "":
			return nil
		case before != nil && vetoed(nodes) != "":
			return fmt.Errorf("%s had been reached: %s", reachedText(*before), vetoed(nodes))
		case before != nil:
			return fmt.Errorf("%s had been reached, and no %s is left (%s)", reachedText(*before), what, held(nodes))
		case vetoed(nodes) != "":
			return errors.New(vetoed(nodes))
		case firstCut(nodes) != "" && policy.Require != RequireAlways:
			return nil
		case slices.ContainsFunc(nodes, has):
			return fmt.Errorf("there is no %s (%s)", what, held(nodes))
		case policy.Require == RequireAlways:
			return fmt.Errorf("there is no %s, and one is required", what)
		}
		return nil
	}
	if before != nil && steps[0] < *before {
		return fmt.Errorf("step %d had been reached, and the newest %s is of step %d (%s)",
			*before, what, steps[0], held(nodes))
	}
	if nodes[0].Checkpoints.Unit != "" {
		return nil // an epoch is never compared with a step
	}
	for _, n := range nodes {
		if n.Step != nil && policy.MaxLostSteps > 0 && *n.Step-steps[0] > policy.MaxLostSteps {
			return fmt.Errorf("training was at step %d, and the newest %s is of step %d: more than %d steps would be lost",
				*n.Step, what, steps[0], policy.MaxLostSteps)
		}
	}
	return nil
}

// reachedText is a step that had been reached. Step 0 is that of checkpoints that say none.
func reachedText(step int64) string {
	if step == 0 {
		return "a checkpoint"
	}
	return fmt.Sprintf("step %d", step)
}

func vetoed(nodes []named) string {
	for _, n := range nodes {
		if n.Checkpoints != nil && n.Checkpoints.Veto != "" {
			return n.name + ": " + n.Checkpoints.Veto
		}
	}
	return ""
}

// held says who has what, as far as a sentence goes.
func held(nodes []named) string {
	const most = 4
	var parts []string
	for i, n := range nodes {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d more nodes", len(nodes)-most))
			break
		}
		if n.Checkpoints == nil {
			continue
		}
		steps := n.Checkpoints.Steps
		if len(steps) == 0 && len(n.Checkpoints.Identities) > 0 {
			parts = append(parts, n.name+" has content "+n.Checkpoints.Identities[0])
			continue
		}
		if len(steps) == 0 {
			parts = append(parts, n.name+" has none")
			continue
		}
		text := strings.Trim(fmt.Sprint(steps[:min(len(steps), most)]), "[]")
		parts = append(parts, n.name+" has "+strings.ReplaceAll(text, " ", ", "))
	}
	return strings.Join(parts, "; ")
}

// progress is how far these nodes say they have come, and whether there is an older checkpoint to fall back to.
func (t *turn) progress(nodes []named) (p Progress, older bool) {
	p.looked, p.atLeast = t.job.Spec.Resume.Look, t.job.Spec.Resume.MinProgress
	for _, n := range nodes {
		if n.Step != nil && (p.Step == nil || *n.Step > *p.Step) {
			p.Step = n.Step
		}
	}
	if steps := common(nodes); len(steps) > 0 {
		p.Checkpoint, older = &steps[0], len(steps) > 1
	}
	return p, older
}

// own are the members of a round that are still there, as they were then.
func own(members []member) (nodes []named) {
	for _, m := range members {
		if m.own {
			nodes = append(nodes, named{m.Name, m.entry})
		}
	}
	return nodes
}
