package exitcodes

func succeeded(f Finding, o Outcome, rules *Rules) Finding {
	f.Verdict, f.Reason, f.Role = Success, ReasonSucceeded, RoleNone
	f.Message = f.who() + " exited 0"
	if len(o.Output) == 0 {
		return f
	}
	r := newReader(o, rules)
	if m, _, found := r.loose(0, len(r.lines), false); found && m.Rule.OnSuccess {
		return f.apply(said{match: m, known: true}, o)
	}
	return f
}
