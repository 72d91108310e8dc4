package torchrun

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
)

// CountGPUs counts the NVIDIA GPUs that torch.cuda.device_count would find, without the driver's library: root is the
// file system ("/"), whose dev has one nvidiaN per GPU that this container may use. CUDA_VISIBLE_DEVICES chooses among
// them. It does not find out whether the library and a CUDA build of torch are there as well.
//
// GPUs that it can see and not count (AMD's, and NVIDIA's under WSL) are an error.
func CountGPUs(root fs.FS, lookup func(string) (string, bool)) (int, error) {
	if v, _ := lookup("NVIDIA_VISIBLE_DEVICES"); v == "void" || v == "none" {
		return 0, nil // the container was made without GPUs
	}
	var present []string
	entries, err := fs.ReadDir(root, "dev")
	if err != nil {
		return 0, err
	}
	var others error
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.HasPrefix(name, "nvidia") && onlyDigits(name[len("nvidia"):]):
			present = append(present, name)
		case name == "kfd":
			others = errors.New("AMD GPUs (/dev/kfd) are counted by ROCm only")
		case name == "dxg":
			others = errors.New("the GPUs of WSL (/dev/dxg) are counted by the driver's library only")
		}
	}
	if len(present) == 0 {
		return 0, others
	}
	visible, set := lookup("CUDA_VISIBLE_DEVICES")
	switch {
	case !set:
		return len(present), nil
	case strings.HasPrefix(visible, "MIG-"):
		return 1, nil // CUDA gives a process one slice of a GPU, however many are listed
	case strings.HasPrefix(visible, "GPU-"):
		if known := uuids(root, present); len(known) > 0 {
			return countUUIDs(visible, known), nil
		}
		return min(countUUIDs(visible, strings.Split(visible, ",")), len(present)), nil // the driver tells no UUIDs here
	}
	return countOrdinals(visible, len(present)), nil
}

// countOrdinals counts a list such as 0,2 as torch does: a number that comes twice makes the list empty; one that is
// negative, none at all, or not there ends it; what follows the digits of one is ignored.
func countOrdinals(visible string, have int) int {
	var seen []int
	for item := range strings.SplitSeq(visible, ",") {
		n := ordinal(trim(item))
		if slices.Contains(seen, n) {
			return 0
		}
		if n < 0 {
			break
		}
		seen = append(seen, n)
	}
	for i, n := range seen {
		if n >= have {
			return i
		}
	}
	return len(seen)
}

// ordinal is the number that s begins with, -1 when it begins with none.
func ordinal(s string) int {
	end := 0
	for end < len(s) && (s[end] >= '0' && s[end] <= '9' || end == 0 && strings.ContainsRune("+-", rune(s[0]))) {
		end++
	}
	n, err := number(s[:end])
	if err != nil {
		return -1
	}
	return n
}

// countUUIDs counts a list of UUIDs, or of beginnings of them, as torch does: one that is unknown or fits several ends
// the list, a GPU that comes twice makes it empty.
func countUUIDs(visible string, have []string) int {
	var seen []int
	for item := range strings.SplitSeq(visible, ",") {
		if !strings.HasPrefix(item, "GPU-") {
			break
		}
		fits := -1
		for i, uuid := range have {
			if strings.HasPrefix(uuid, item) {
				if fits >= 0 {
					return len(seen)
				}
				fits = i
			}
		}
		if fits < 0 {
			break
		}
		if slices.Contains(seen, fits) {
			return 0
		}
		seen = append(seen, fits)
	}
	return len(seen)
}

// uuids reads the UUIDs of the present devices from what the driver tells in /proc.
func uuids(root fs.FS, present []string) []string {
	var found []string
	files, _ := fs.Glob(root, "proc/driver/nvidia/gpus/*/information")
	for _, file := range files {
		text, err := fs.ReadFile(root, file)
		if err != nil {
			continue
		}
		var uuid, minor string
		for line := range strings.Lines(string(text)) {
			switch name, value, _ := strings.Cut(line, ":"); name {
			case "GPU UUID":
				uuid = trim(value)
			case "Device Minor":
				minor = trim(value)
			}
		}
		if uuid != "" && slices.Contains(present, "nvidia"+minor) {
			found = append(found, uuid)
		}
	}
	return found
}
