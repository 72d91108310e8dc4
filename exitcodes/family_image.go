package exitcodes

// What a registry says of an image that it does not have, or does not give to who asks (the codes of the OCI's distribution
// specification, and what containerd and Docker make of them).
var (
	saysImage       = phrases.list("image", "manifest", "registry", "pull access")
	saysPulled      = phrases.list("pull", "manifest", "registry", "repository")
	saysImageAbsent = phrases.list("name unknown", "name_unknown", "manifest unknown", "manifest_unknown", "does not exist in the registry", "repository does not exist",
		"failed to resolve reference", "no matching manifest", "no match for platform", "pull access denied", "authorization failed", "unauthorized: ", "denied: ", "invalid reference format", ": not found")
)

// imageFamily knows an image that cannot be had, whatever client passes on what the registry has answered.
func imageFamily(_, _ string, message []byte, h heard) family {
	if !h.any(saysImage) || !h.any(saysPulled) || !h.any(saysImageAbsent) || h.any(saysTimeout) || h.any(saysPeerLost) || h.any(saysBusy) || statusPattern().Match(message) || h.any(saysLookup) {
		return family{}
	}
	return deterministic("service", "RequestRefused")
}

// saysLookup is a registry that was not reached.
var saysLookup = phrases.list("dial tcp", "no such host", "unexpected eof", ": eof", "connection refused", "server misbehaving", "name resolution")
