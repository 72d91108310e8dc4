package exitcodes

import "strings"

// hung judges a worker that got nowhere. What it answered when it was ended says nothing, but it may have said before
// why it fails: then it is that failure, of a process that did not end.
func hung(f Finding, o Outcome, rules *Rules) Finding {
	least := RoleRoot
	if o.Hang.Failed {
		least = RoleCascade
	}
	if said := ownWords(f, o, rules, least); said != nil {
		said.Message = strings.Replace(said.Message, "was stopped when it had failed already", "had failed, and did not end", 1)
		return *said
	}
	f.Verdict, f.Reason, f.Code = Retry, ReasonHang, CodeHang
	f.Message, f.Evidence = f.who()+" "+o.Hang.Why, o.Hang.Evidence
	if f.Evidence == "" {
		f.Role, f.Evidence = RoleSuspect, o.Hang.Why
	}
	if o.Hang.Echo {
		f.Role = RoleCascade
	}
	return f
}
