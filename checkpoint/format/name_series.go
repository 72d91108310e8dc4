package format

// The step is what differs between the names of one series. Names of hyperparameters have numbers, too, which all of them share.

// titlesOf reads names that stand side by side. Where all of a series would have the same step, and another number that differs
// has a word that says what it counts, or stands behind one for a checkpoint, it is that one: e30_bs16_ckpt_3, e30_bs16_ckpt_4.
func titlesOf(names []string) map[string]title {
	titles := make(map[string]title, len(names))
	series := map[string][]string{}
	for _, name := range names {
		t := titleOf(name)
		if titles[name] = t; t.step >= 0 {
			key := numberless(name)
			series[key] = append(series[key], name)
		}
	}
	for _, s := range series {
		first := titles[s[0]]
		for _, name := range s {
			if t := titles[name]; t.step != first.step || t.unit != first.unit {
				s = nil
				break
			}
		}
		if len(s) > 1 {
			different(s, titles)
		}
	}
	return titles
}

// different reads names of which all have the same step without the numbers that they share.
func different(names []string, titles map[string]title) {
	all := make([][]piece, len(names))
	for i, name := range names {
		if all[i] = pieces(stemOf(name)); len(all[i]) != len(all[0]) {
			return
		}
	}
	for k := range all[0] {
		shared := true
		for _, ps := range all {
			shared = shared && ps[k].text == all[0][k].text
		}
		for _, ps := range all {
			ps[k].shared = shared && ps[k].number
		}
	}
	found := make([]title, len(names))
	for i, ps := range all {
		t, at := titleIn(ps)
		if at < 0 || !t.named && !ofCheckpoint(ps, at) {
			return
		}
		found[i] = t
	}
	for i, name := range names {
		titles[name] = found[i]
	}
}

// ofBatchSize reports whether the number behind the word batch is one hyperparameter among others: k16-batch16-lr0.001.
func ofBatchSize(ps []piece, i int) bool {
	if !ps[i].glued || ps[i-1].text != "batch" {
		return false
	}
	for k := 1; k < len(ps); k++ {
		if k != i && ps[k].number && ps[k].glued && (ps[k].decimal || otherWords[ps[k-1].text]) {
			return true
		}
	}
	return false
}
