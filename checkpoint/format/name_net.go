package format

// ofNet reports whether a number belongs to the name of a network: FlowNet2, LeNet5. One behind net alone counts, as bestNet5 does.
func ofNet(ps []piece, i int) bool {
	if i < 2 || !ps[i].number || !ps[i].glued || !ps[i-1].glued || ps[i-1].text != "net" || ps[i-2].number {
		return false
	}
	word := ps[i-2].text
	return !neutralWords[word] && !slotWords[word] && !stepWords[word] && !epochWords[word] && roleWords[word] == ""
}

// ofParameters reports whether a number says how many parameters a model has: 7b, 124M. What stands behind it is another number.
func ofParameters(ps []piece, i int) bool {
	return i >= 0 && i+2 < len(ps) && ps[i].number && ps[i+1].glued && !ps[i+2].glued && (ps[i+1].text == "b" || ps[i+1].text == "m") &&
		(i == 0 || !stepWords[ps[i-1].text] && !neutralWords[ps[i-1].text])
}

// anotherAfter reports whether a whole number stands by itself behind one with a unit.
func anotherAfter(ps []piece, i int) bool {
	for k := i + 2; k < len(ps); k++ {
		if ps[k].number && !ps[k].decimal && !ps[k].used && !ps[k].glued {
			return true
		}
	}
	return false
}
