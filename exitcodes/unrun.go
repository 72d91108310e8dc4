package exitcodes

// unresumed judges a worker that did not resume from its checkpoint. gangrun has stopped it, or never started it, so
// its own answer says nothing.
func unresumed(f Finding, o Outcome) Finding {
	f.Verdict, f.Reason, f.Code = Fatal, ReasonCheckpointUnusable, CodeCheckpointUnusable
	if o.Reload {
		f.Verdict, f.Code = Retry, CodeRetryableByRule
	}
	f.Message, f.Evidence = f.who()+" "+o.Checkpoint, o.Checkpoint
	return f
}

func notStarted(f Finding, o Outcome) Finding {
	f.Message, f.Evidence = o.NotStarted, o.NotStarted
	switch o.Status.Code {
	case CodeNotFound:
		f.Verdict, f.Reason, f.Code = Fatal, ReasonNotFound, CodeNotFound
	case CodeNotExecutable:
		f.Verdict, f.Reason, f.Code = Fatal, ReasonNotExecutable, CodeNotExecutable
	default: // no processes or memory left: the machine's trouble
		f.Verdict, f.Reason, f.Code, f.NodeFault = Retry, ReasonNodeUnhealthy, CodeNodeUnhealthy, true
	}
	return f
}
