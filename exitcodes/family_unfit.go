package exitcodes

// saysUnfit are what a message says of a program, a machine or a setting that does not fit. That stays so, whatever else the message
// names: a transport that nobody has built in is no peer that was lost.
var saysUnfit = phrases.list("memlock", "ulimit -l", "max locked memory", "version mismatch detected", "does not match the cluster", "unsupported scheme", "unsupported by", "unexpected keyword argument",
	"no module named", "login failed for user", "incorrect username", "incorrect password", "no such unit", "unknown device", "connect to display", "missing field",
	"no usable transports", "no active messages transport", "no eligible providers", "no provider ", "unknown fabric provider", "check fi_provider", "unexpected value", "expected values", "not built with",
	"cuda_error_invalid_device", "failed to resolve asset", "failed to resolve {", "file not found under path", "invalid sweep", "check your plan and billing",
	"not fully configured", "is not configured", "no s3 objects found", "message too big", "is greater than the derived", "port must be", "host list is empty", "is not supported by", "does not support ssl", "closed by client",
	"requires libpq", "certificateerror(", "unsupported protocol", "unsupported_protocol", "key values mismatch", "no mechanism available", "no such network plugin", "signed by unknown authority", "larger than max", "message exceeds maximum size",
	"extension not found", "cannot be set to a value", "in function version", "no registered '", "in this build", "pkix path", "kerberos tgt", "accesscontrolexception", "limitexceededexception", "invalid resource request", "could not satisfy explicit device", "cannot assign a device for operation", "invalid credential", "to \"none\"")

// unfit reports whether the family only knows by a class or a phrase that the condition passes, and the message says that something
// does not fit.
func (f family) unfit(h heard) bool {
	return f.verdict == Retry && (f.name == "family.collective" || f.name == "family.device" || f.name == "family.class" || f.name == "family.phrase" || f.name == "family.system" || f.name == "family.rpc") && h.any(saysUnfit)
}
