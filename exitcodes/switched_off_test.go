package exitcodes

import "testing"

// TestSwitchedOff has a hub that was not asked since a setting forbids it, and one that could not be reached.
func TestSwitchedOff(t *testing.T) {
	const tb = "Traceback (most recent call last):\n  File \"/app/train.py\", line 9, in <module>\n    main()\n"
	const cause = "\nThe above exception was the direct cause of the following exception:\n\n"
	const context = "\nDuring handling of the above exception, another exception occurred:\n\n"
	const off = tb + "huggingface_hub.errors.LocalEntryNotFoundError: Cannot find the requested files in the disk cache and outgoing traffic has been disabled. To enable hf.co look-ups and downloads online, set 'local_files_only' to False.\n"
	const down = tb + "huggingface_hub.errors.LocalEntryNotFoundError: An error happened while trying to locate the file on the Hub and we cannot find the requested files in the local cache. Please check your connection and try again or make sure your Internet connection is on.\n"
	const end = tb + "OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the cached files.\n"
	for name, tt := range map[string]struct {
		output string
		want   Verdict
		reason string
	}{
		"switched off":                       {off + cause + end, Fatal, "HubOffline"},
		"down":                               {down + cause + end, Retry, "HubUnreachable"},
		"switched off, then down":            {off + context + end, Retry, "HubUnreachable"}, // the earlier one was handled
		"an exception that was only a cause": {"huggingface_hub.errors.OfflineModeIsEnabled: Cannot reach https://huggingface.co/gpt2/resolve/main/config.json: offline mode is enabled. To disable it, please unset the `HF_HUB_OFFLINE` environment variable.\n" + cause + down, Fatal, "HubOffline"},
		"the same, after another traceback":  {tb + "OSError: not in the cache\nlooking at the hub\na\nb\nc\nd\ne\nf\nhuggingface_hub.errors.OfflineModeIsEnabled: Cannot reach https://huggingface.co/gpt2/resolve/main/config.json: offline mode is enabled. To disable it, please unset the `HF_HUB_OFFLINE` environment variable.\n" + cause + down, Fatal, "HubOffline"},
		"of a data set":                      {tb + "ConnectionError: Couldn't reach 'allenai/c4' on the Hub (OfflineModeIsEnabled)\n", Fatal, "HubOffline"},
		"of a data set, and down":            {tb + "ConnectionError: Couldn't reach 'allenai/c4' on the Hub (ConnectionError)\n", Retry, "PeerUnreachable"},
	} {
		if f := Judge(exited(1).printing(tt.output), BuiltinRules()); f.Verdict != tt.want || f.Reason != tt.reason {
			t.Errorf("%s: %s (%s) by %q: %s", name, f.Verdict, f.Reason, f.Rule, f.Evidence)
		}
	}
}
