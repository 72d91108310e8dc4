package format

// ofNet reports whether a number belongs to the name of a network: FlowNet2, LeNet5. One behind net alone counts, as bestNet5 does.
func ofNet(ps []piece, i int) bool {
	if i < 2 || !ps[i].number || !ps[i].glued || !ps[i-1].glued || ps[i-1].text != "net" || ps[i-2].number {
		return false
	}
	word := ps[i-2].text
	return !neutralWords[word] && !slotWords[word] && !stepWords[word] && !epochWords[word] && roleWords[word] == ""
}
