package format

// sideWords say which of two a part of a model is for, behind the word for the part: G_A, netG_A2B, D_X, optimizer_D_B.
var sideWords = set("a b x y s t ab ba xy yx ato bto xto yto st ts")

// pupilWords are parts where the name has a step: else they name a training run of their own.
var pupilWords = set("student teacher")

// sidedRoles are the parts of which there are two.
var sidedRoles = set("generator discriminator encoder decoder critic actor optimizer optimizerg optimizerd scheduler")

// ofSide reports whether a piece of a name says that, or is the number in it: the 2 of A2B.
func ofSide(ps []piece, i int) bool {
	switch {
	case i < 1 || i >= len(ps):
		return false
	case ps[i].number:
		return ps[i].text == "2" && ps[i].glued && i+1 < len(ps) && ps[i+1].glued && sideWords[ps[i+1].text] && ofSide(ps, i-1)
	case !sideWords[ps[i].text]:
		return false
	}
	return sidedRoles[roleWords[ps[i-1].text]] || ofSide(ps, i-1)
}

// ofLetters reports whether a number is one of several behind single letters, where a word says what another one counts: of
// epoch2_e20_f60_s30 the letters are of measures.
func ofLetters(ps []piece, i int) bool {
	letter := func(k int) bool {
		return k > 0 && ps[k].number && ps[k].glued && len(ps[k-1].text) == 1 && !ps[k-1].glued
	}
	if !letter(i) {
		return false
	}
	letters, counted := 0, false
	for k := range ps {
		if letter(k) {
			letters++
		} else if k > 0 && ps[k].number && len(ps[k-1].text) > 1 {
			counted = counted || stepWords[ps[k-1].text] || epochWords[ps[k-1].text]
		}
	}
	return counted && letters > 2
}

// ofLetter reports whether a number stands behind a single letter at once: the s of s3dis may be no step.
func ofLetter(ps []piece, i int) bool {
	return i > 0 && ps[i].glued && !ps[i-1].number && len(ps[i-1].text) == 1
}
