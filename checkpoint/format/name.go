package format

import (
	"slices"
	"strings"
)

// Unit is what a step counts.
type Unit string

// The units. An epoch orders checkpoints, and is never compared with the steps that a training run reports.
const (
	UnitStep  Unit = ""
	UnitEpoch Unit = "epoch"
)

// title is what the name of a file or a directory says that a program of somebody's own chose.
type title struct {
	step     int64 // -1: it has none
	unit     Unit
	named    bool   // the number has a word that says what it counts: step_100
	yearlike bool   // the number could as well be a year
	sizelike bool   // the number could as well be the size of an image
	inner    bool   // a small bare number stands between other words, and may be one of those that the run was begun with
	rank     int64  // of the process that wrote it, or the number of a shard; -1: it says none
	of       int64  // how many shards there are, 0 when it does not say
	roles    string // which part of the training state it is: "optimizer"; several are joined
	slot     string // "latest", "best": which of several that are written over
	family   string // the rest: what files of one series have in common
	major    string // the bare number before a bare number that is the step, which may be the epoch of which it is
	when     string // a date, a time or the number of a copy, as it stands there
}

// sizes are those of images, and of layers, that stand in the names of models.
var sizes = []int64{128, 224, 256, 320, 384, 448, 480, 512, 640, 768, 1024}

// titleOf reads a name: a number that a word calls a step goes before one that a word calls an epoch, and this before a
// bare one, of which the last counts. Measures, sizes, versions, ranks, shards, dates and times are no steps.
func titleOf(name string) title {
	stem := stemOf(name)
	if isHash(stem) {
		return title{step: -1, rank: -1, when: stem}
	}
	t, _ := titleIn(pieces(stem))
	return t
}

// titleIn reads the pieces of a name, and says which of them is the step, -1 when it has none.
func titleIn(ps []piece) (t title, at int) {
	t = title{step: -1, rank: -1}
	dates(ps)
	best := 0 // how sure: 3 a step, 2 an epoch, 1 a bare number
	ranked := -1
	at = -1
	for i := range ps {
		p := &ps[i]
		if !p.number || p.used || p.shared {
			continue
		}
		n, sure, unit := t.reading(ps, i)
		switch {
		case sure == 1 && best == 1 && p.text[0] == '0' && len(p.text) > 3 && n < t.step && i+1 == len(ps):
			t.rank, ranked = n, i // state_00001000_00001
		case sure == 2 && best == 1 && t.step > n && ofCheckpoint(ps, at):
			// checkpoint-1000-epoch-1
		case sure == 1 && best == 1 && !ps[i].glued && at == i-1:
			t.major, t.step, t.unit, at = ps[at].text, n, unit, i
		case sure == 2 && best == 3:
			t.major = p.text // step_20_epoch_3
		case sure == best && sure > 1 && unit == t.unit && ofLetter(ps, i) && !ofLetter(ps, at):
			// epoch18_e31: the letter is of something else
		case sure == 3 && best == 2:
			t.major, t.step, t.unit, t.named, best, at = ps[at].text, n, unit, true, sure, i
		case sure > 0 && sure >= best, sure == 1 && n > t.step && t.unit == UnitEpoch && ofCheckpoint(ps, i):
			t.step, t.unit, t.named, best, at = n, unit, sure > 1, sure, i
		}
	}
	if at >= 0 && best == 1 {
		n := t.step
		t.sizelike = slices.Contains(sizes, n) && !ofCheckpoint(ps, at) && at > 0
		t.inner = n < 1000 && amongWords(ps, at)
		t.yearlike = len(ps[at].text) == 4 && 1990 <= n && n <= 2039 && n%100 != 0
	}
	t.words(ps, at, ranked)
	return t, at
}

// ofCheckpoint reports whether a number stands behind a word for a checkpoint, which it counts.
func ofCheckpoint(ps []piece, i int) bool { return i > 0 && !ps[i].glued && neutralWords[ps[i-1].text] }

// reading is what one number says: how sure it is that it is a step, and of which unit.
func (t *title) reading(ps []piece, i int) (n int64, sure int, unit Unit) {
	p := ps[i]
	before, after := "", ""
	if i > 0 && !ps[i-1].number {
		before = ps[i-1].text
	}
	if i+1 < len(ps) && !ps[i+1].number {
		after = ps[i+1].text
	}
	if ofParameters(ps, i-2) || ofSide(ps, i-1) {
		before = "" // llama2-7b-12000, G_B_15
	}
	if len(before) == 1 && ps[i-1].glued && i > 1 && ps[i-2].number || ofSide(ps, i) || ofLetters(ps, i) { // the e in 3f2a9c1e-8b7d says nothing
		return 0, 0, ""
	}
	gluedAfter := after != "" && ps[i+1].glued
	if gluedAfter && ofLetter(ps, i) && len(after) > 1 && !epochWords[after] && !stepWords[after] {
		return 0, 0, "" // s3dis, e3nn
	}
	n, ok := digits(p.text)
	switch part, is := ofWorld(ps, i); {
	case is && part == 0 && t.of == 0:
		t.rank = n
		return 0, 0, ""
	case is && part == 1 && t.of == 0:
		t.of = n
		return 0, 0, ""
	case is:
		return 0, 0, ""
	case before == "of" && i > 1 && ofTotal(ps, i-2): // epoch 3 of 10
		return 0, 0, ""
	case before == "of":
		t.of = n
		return 0, 0, ""
	case after == "of" && !p.decimal && !ofTotal(ps, i):
		t.rank = n
		return 0, 0, ""
	case (rankWords[before] || ofGenerators(ps[:i])) && ok && !p.decimal:
		t.rank = n
		return 0, 0, ""
	}
	if gluedAfter && (after == "k" || after == "m") {
		if counts := stepWords[before] || neutralWords[before]; p.glued && !counts || !counts && anotherAfter(ps, i) {
			return 0, 0, "" // in21k, laion400m: what it was trained on; gpt2_124M_12000
		}
		if n, ok = thousands(p.text, after); ok && (stepWords[before] || !otherWords[before] || before == "") {
			if stepWords[before] {
				return n, 3, UnitStep
			}
			if epochWords[before] {
				return 0, 0, ""
			}
			return n, 1, UnitStep
		}
		return 0, 0, ""
	}
	if whole, found := strings.CutSuffix(p.text, ".0"); found && neutralWords[before] && !p.glued {
		if n, ok = digits(whole); ok {
			return n, 1, UnitStep // checkpoint_3.0, of a program that divides
		}
	}
	if !ok || p.decimal {
		return 0, 0, ""
	}
	switch {
	case stepWords[before] && (before != "s" || p.glued) && !(before == "batch" && after == "size") && !ofBatchSize(ps, i):
		return n, 3, UnitStep
	case epochWords[before]:
		return n, 2, UnitEpoch
	case stepWords[after] && (gluedAfter || plurals[after]) && after != "s" && after != "it":
		return n, 3, UnitStep
	case epochWords[after] && (gluedAfter && after != "e" || plurals[after]):
		return n, 2, UnitEpoch
	case gluedAfter && !ofTotal(ps, i), len(p.text) >= 10 && p.text[0] != '0' && len(p.text) <= 13: // "4bit"; the seconds since 1970
		return 0, 0, ""
	case p.glued && (copyWords[before] || pastWords[before]): // best0, prev1, copy2
		t.when += p.text
		return 0, 0, ""
	case ofNet(ps, i):
		return 0, 0, ""
	case before == "", neutralWords[before], slotWords[before], roleWords[before] != "" && (!p.glued || len(before) > 1):
		return n, 1, UnitStep
	case !p.glued && len(p.text) > 2 && p.text[0] == '0' && archWords[before]: // resnet-0010; resnet-50 is a size
		return n, 1, UnitStep
	case p.glued && !otherWords[before] && ofFrames(ps, i):
		return n, 1, UnitStep
	case p.glued, otherWords[before]:
		return 0, 0, ""
	}
	return n, 1, UnitStep
}

// ofFrames reports whether a number ends a name and has zeros before it, as programs count that sort their files by their names, or
// is all that the name has behind the letter of a part: scene0001, G10000.
func ofFrames(ps []piece, i int) bool {
	number, before := ps[i].text, ps[i-1].text
	return i+1 == len(ps) && (number[0] == '0' && len(number) > 3 || len(ps) == 2 && len(number) > 2 && len(before) == 1 && (before == "o" || roleWords[before] != ""))
}

// ofWorld reports whether a number is one of the two behind words for a rank and for how many there are: rank_world_size=0_2.
func ofWorld(ps []piece, i int) (part int, is bool) {
	first := i
	if i > 0 && ps[i-1].number {
		first, part = i-1, 1
	} else if i+1 == len(ps) || !ps[i+1].number {
		return 0, false
	}
	rank, world := false, false
	for k := first - 1; k >= 0 && !ps[k].number; k-- {
		rank, world = rank || rankWords[ps[k].text], world || ps[k].text == "world"
	}
	return part, rank && world
}

func inWorld(ps []piece, i int) bool {
	_, is := ofWorld(ps, i)
	return is
}

// ofTotal reports whether a number says how far training is of how much there will be: epoch_3_of_10. It is no number of a
// shard, which begins with zeros or stands beside the number of a step.
func ofTotal(ps []piece, i int) bool {
	numbers := 0
	for _, p := range ps {
		if p.number {
			numbers++
		}
	}
	return numbers == 2 && ps[i].number && ps[i].text[0] != '0' && i > 0 && i+2 < len(ps) && len(ps[i-1].text) > 1 && (stepWords[ps[i-1].text] || epochWords[ps[i-1].text]) &&
		ps[i+1].text == "of" && ps[i+2].number
}

// ofGenerators reports whether a name so far is that of the state of random number generators, which each process has.
func ofGenerators(ps []piece) bool {
	for _, p := range ps {
		if p.number {
			return false
		}
		if p.text == "rng" || p.text == "random" {
			return true
		}
	}
	return false
}

// thousands reads 900 with k and 1.5 with m.
func thousands(text, unit string) (int64, bool) {
	factor := int64(1000)
	if unit == "m" {
		factor = 1000 * 1000
	}
	whole, part, _ := strings.Cut(text, ".")
	n, ok := digits(whole)
	if !ok || n > 1<<40 || len(part) > 3 {
		return 0, false
	}
	n *= factor
	for _, c := range []byte(part) {
		if !digit(c) {
			return 0, false
		}
		factor /= 10
		n += int64(c-'0') * factor
	}
	return n, true
}

// words sorts the rest of a name into what it says. at is the piece that is the step, and ranked the one of a rank without a
// word.
func (t *title) words(ps []piece, at, ranked int) {
	var roles, family []string
	worlds := false
	for i, p := range ps {
		if p.number && p.used {
			t.when += p.text
		}
		switch {
		case i == at:
			if i > 0 && !ps[i-1].number && len(family) > 0 && (stepWords[ps[i-1].text] || epochWords[ps[i-1].text]) {
				family = family[:len(family)-1]
			}
			if i > 1 && ps[i-2].text == "global" && len(family) > 0 {
				family = family[:len(family)-1]
			}
		case i == ranked && ranked >= 0:
			roles = append(roles, "#")
		case i == at+1 && at >= 0 && !p.number && (p.glued || plurals[p.text]):
		case p.number && i > 2 && ofTotal(ps, i-2):
			// how much there will be
		case p.number && inWorld(ps, i):
			if part, _ := ofWorld(ps, i); !worlds {
				roles = append(roles, "#")
				worlds = part == 1
			} else {
				roles = append(roles, p.text)
			}
		case ofSide(ps, i), pupilWords[p.text] && at >= 0:
			roles = append(roles, p.text)
		case ofNet(ps, i) && i != at:
		case p.number && p.shared && !p.used:
			family = append(family, p.text)
		case p.number && (p.used || p.decimal || i == 0 || measures[ps[i-1].text] || ps[i-1].number):
			// a measure, a date: it differs from save to save
		case p.number && ofGenerators(ps[:i]), p.number && i > 0 && (rankWords[ps[i-1].text] || ps[i-1].text == "of"), p.number && (at >= 0 || p.glued) && i > 0 && ps[i-1].text == "shard", p.number && i+1 < len(ps) && ps[i+1].text == "of":
			if n, ok := digits(p.text); ok && i > 0 && ps[i-1].text == "shard" {
				t.rank = n
			}
			roles = append(roles, "#")
		case p.number && at >= 0 && i > 0 && partWords[ps[i-1].text]:
			roles = append(roles, p.text)
		case p.number && i > 0 && (epochWords[ps[i-1].text] || stepWords[ps[i-1].text]):
			family = family[:max(0, len(family)-1)] // an epoch beside the step
		case p.number && (neutralWords[ps[i-1].text] || slotWords[ps[i-1].text] || roleWords[ps[i-1].text] != ""):
			// an epoch or a batch, without a word
		case p.number:
			family = append(family, p.text)
		case i+1 < len(ps) && ofNet(ps, i+1):
			family = append(family, p.text, ps[i+1].text)
		case p.text == "of":
		case rankWords[p.text], p.text == "shard" && (at >= 0 || i+1 < len(ps) && ps[i+1].number && ps[i+1].glued):
			roles = append(roles, "rank")
		case partWords[p.text] && at >= 0 && i+1 < len(ps) && ps[i+1].number:
			roles = append(roles, p.text)
		case i == 0 && at == 1 && len(ps) == 2 && p.text == "o": // O0010000.pt beside G0010000.pt
			roles = append(roles, "optimizer")
		case roleWords[p.text] != "" && (i == 0 || !p.glued || len(p.text) == 1 && roleWords[ps[i-1].text] != ""): // netG, optimizerD
			roles = append(roles, roleWords[p.text])
		case i+1 < len(ps) && slotWords[ps[i+1].text] && len(p.text) > 2 && (epochWords[p.text] || stepWords[p.text]): // epoch_latest
		case slotWords[p.text]:
			t.slot = p.text
		case neutralWords[p.text], endingWords[p.text]:
		default:
			family = append(family, p.text)
		}
	}
	t.roles, t.family = strings.Join(roles, " "), strings.Join(family, " ")
}

// glued takes a word that begins with one for the newest for that: lastlog.
func (t title) glued() title {
	for _, slot := range []string{"latest", "last"} {
		if t.slot == "" && t.step < 0 && strings.HasPrefix(t.family, slot) && !strings.Contains(t.family, " ") {
			t.slot, t.family = slot, ""
		}
	}
	return t
}

// OfBest reports whether a checkpoint is by its name, or by that of its directory, the best so far: a copy of another, or written now
// and then.
func (c *Checkpoint) OfBest() bool { return titleOf(c.base()).slot == "best" || BestDir(c.Root) }

// OfPast reports whether a checkpoint is by its name that, or what a run was begun from or has left behind.
func (c *Checkpoint) OfPast() bool { return c.OfBest() || pastWords[titleOf(c.base()).slot] }
