package hang

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/internal/words"
)

// Stand is what is known of one worker when the node got nowhere.
type Stand struct {
	Name string // for a person: rank 2
	Step *int64 // the least that it has told; nil: none
	// Collectives is which ones it has joined, as torch says of all stands, or NCCL of all; nil: not known.
	Collectives *Collectives
	// Groups are the process groups that it is in, as torch says of all stands. Pairs says that it waits for a message of
	// a single rank.
	Groups  []Group
	Pairs   bool
	Trouble string // a process of it that cannot go on, to follow "its"; empty: none
	// Place is where its main thread stands, and Signature what it has in common with others that stand there; both empty
	// where its stack is not known. Waits says that it waits for other ranks there.
	Place, Signature string
	Waits            bool
	// Since says that it has failed since the silence was half over, as ranks do whose connection ends when those of another
	// node are ended: where it stands now tells nothing of what it stood in.
	Since bool
}

// Collectives is how far a rank has come among the collectives of the job.
type Collectives struct {
	Joined int64 // the number of the last one that it has enqueued
	// Completed is the number of the last one that has come to its end there. NCCL does not tell: nil.
	Completed *int64
}

// Blame says which worker the others wait for, and what tells it from them. Where nothing does it is -1, and why says what
// that may mean.
func Blame(stands []Stand) (guilty int, why string) {
	nobody := "" // why it can be none of them alone
	for _, tells := range []func([]Stand) (int, string){byTrouble, byCollectives, byGroups, Differ, byStep, byPlace, byWaiting} {
		guilty, why := tells(stands)
		if guilty >= 0 {
			return guilty, why
		}
		nobody = cmp.Or(nobody, why)
	}
	if nobody != "" {
		return -1, nobody
	}
	if len(stands) == 1 {
		return alone(stands[0])
	}
	if place, same := samePlace(stands); same {
		return -1, "all are in " + place + ": the network, the hardware, or a rank on another node"
	}
	return -1, "it is unknown which rank the others wait for" + apart(stands)
}

// Victims reports whether all wait for other ranks in the same place, as those do of whom none is to blame.
func Victims(stands []Stand) bool {
	still := still(stands)
	if len(still) == 0 {
		return len(stands) > 0
	}
	_, same := samePlace(still)
	return (same || len(still) == 1) && (still[0].Waits || newWaits(still).waits(0))
}

// still are those that stand where they stood all the time.
func still(stands []Stand) []Stand {
	return slices.DeleteFunc(slices.Clone(stands), func(s Stand) bool { return s.Since })
}

// apart says where they stand, if that is known of all, and they stand in a few places.
func apart(stands []Stand) string {
	var places []string
	at := map[string][]string{}
	for _, s := range stands {
		if s.Place == "" {
			return ""
		}
		if at[s.Place] == nil {
			places = append(places, s.Place)
		}
		at[s.Place] = append(at[s.Place], s.Name)
	}
	if len(places) > mostNamed {
		return ""
	}
	var b strings.Builder
	for _, place := range places {
		verb := "are"
		if len(at[place]) == 1 {
			verb = "is"
		}
		fmt.Fprintf(&b, "; %s %s in %s", words.Few(at[place]), verb, place)
	}
	return b.String()
}

// alone is the only worker that is left here: to wait for others is no fault.
func alone(s Stand) (int, string) {
	switch {
	case s.Since: // it is on its way out of what it has failed in
		return -1, "it has failed in the second half of the silence"
	case newWaits([]Stand{s}).waits(0): // on a GPU its stack shows only that it waits for that
		return -1, waitsIn(s) + at(s)
	case s.Place == "":
		return -1, "where it stands is not known"
	case s.Waits:
		return -1, "it is in " + s.Place
	}
	return 0, "it is in " + s.Place
}

// byTrouble finds the only one with a process that cannot go on.
func byTrouble(stands []Stand) (int, string) {
	i, only := find(stands, func(s Stand) bool { return s.Trouble != "" })
	if !only {
		return -1, ""
	}
	return i, "its " + stands[i].Trouble + at(stands[i])
}

// byCollectives finds the only one that has not joined the collective in which all the others stand. Who has joined
// fewer than others that have run ahead is not to blame for it: it stands in the same one. Nor is who waits for a message
// of one of them. Nothing follows unless the numbers of all are known, and of the same kind.
func byCollectives(stands []Stand) (int, string) {
	i := behind(stands, func(s Stand) *int64 {
		if s.Collectives == nil {
			return nil
		}
		return &s.Collectives.Joined
	})
	if i < 0 || stands[i].Pairs || !standsInOne(slices.Delete(slices.Clone(stands), i, i+1), stands[i].Collectives) ||
		newWaits(stands).waits(i) {
		return -1, ""
	}
	return i, fmt.Sprintf("it has joined %d collectives, the others more%s", stands[i].Collectives.Joined, at(stands[i]))
}

// standsInOne reports whether the others stand in a collective that the last one has not joined. Where it is not known
// what has been completed, they must all have come as far.
func standsInOne(others []Stand, last *Collectives) bool {
	joined := int64(math.MaxInt64)                            // by all of them
	least, most := int64(math.MaxInt64), int64(math.MinInt64) // that one of them has completed
	for _, s := range others {
		c := s.Collectives
		if c == nil || (c.Completed == nil) != (last.Completed == nil) {
			return false
		}
		if c.Completed == nil {
			if c.Joined != others[0].Collectives.Joined {
				return false
			}
			continue
		}
		joined, least, most = min(joined, c.Joined), min(least, *c.Completed), max(most, *c.Completed)
	}
	return last.Completed == nil || last.Joined <= least && most < joined
}

// byStep finds the only one that has come less far than all the others.
func byStep(stands []Stand) (int, string) {
	i := behind(stands, func(s Stand) *int64 { return s.Step })
	if i < 0 {
		return -1, ""
	}
	return i, fmt.Sprintf("it reported step %d last, the others are further%s", *stands[i].Step, at(stands[i]))
}

// behind finds the only one of which a number is less than those of all the others, as far as they are known.
func behind(stands []Stand, of func(Stand) *int64) int {
	least, known, same := -1, 0, false
	for i, s := range stands {
		n := of(s)
		if n == nil {
			continue
		}
		known++
		switch {
		case least < 0 || *n < *of(stands[least]):
			least, same = i, false
		case *n == *of(stands[least]):
			same = true
		}
	}
	if known < 2 || same {
		return -1
	}
	return least
}

// byPlace finds the only one that stands elsewhere than all the others, of three or more.
func byPlace(stands []Stand) (int, string) {
	groups, known := map[string][]int{}, 0
	for i, s := range stands {
		switch {
		case s.Since:
			continue
		case s.Signature == "":
			return -1, ""
		}
		groups[s.Signature] = append(groups[s.Signature], i)
		known++
	}
	if known < 3 || len(groups) != 2 {
		return -1, ""
	}
	guilty, other := -1, -1
	for _, group := range groups {
		if len(group) == 1 {
			guilty = group[0]
		} else {
			other = group[0]
		}
	}
	if guilty < 0 || stands[guilty].Waits && !stands[other].Waits {
		return -1, "" // several stand where nobody waits
	}
	return guilty, fmt.Sprintf("it is in %s, the others in %s", stands[guilty].Place, stands[other].Place)
}

// byWaiting finds the only one that does not wait for others.
func byWaiting(stands []Stand) (int, string) {
	known := 0
	for _, s := range stands {
		if s.Place != "" {
			known++
		}
	}
	i, only := find(stands, func(s Stand) bool { return s.Place != "" && !s.Waits && !s.Since })
	if !only || known < 2 {
		return -1, ""
	}
	return i, fmt.Sprintf("it is in %s, while the others wait for it", stands[i].Place)
}

// find finds the only one that is so.
func find(stands []Stand, is func(Stand) bool) (i int, only bool) {
	found := -1
	for i, s := range stands {
		if !is(s) {
			continue
		}
		if found >= 0 {
			return -1, false
		}
		found = i
	}
	return found, found >= 0
}

func samePlace(stands []Stand) (string, bool) {
	for _, s := range stands {
		if s.Signature == "" || s.Signature != stands[0].Signature {
			return "", false
		}
	}
	if len(stands) < 2 {
		return "", false
	}
	return stands[0].Place, true
}

func at(s Stand) string {
	if s.Place == "" {
		return ""
	}
	return "; it is in " + s.Place
}

// Places are where all stand, one to a line, for a file.
func Places(stands []Stand) string {
	var b strings.Builder
	for _, s := range stands {
		place := s.Place
		if place == "" {
			place = "unknown"
		}
		fmt.Fprintf(&b, "%s: %s\n", s.Name, place)
	}
	return b.String()
}
