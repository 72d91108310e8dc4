package format

// dates marks the pieces of dates and of the times behind them: 2026-01-02, 20_11_2026, 20260102, 20260102_030405, May-02-2026_03-04-05, 20-Nov_03-04.
func dates(ps []piece) {
	for i := range ps {
		p := &ps[i]
		if !p.number || p.used || p.decimal {
			continue
		}
		rest := ps[i+1:]
		day := len(p.text) == 8 && isDate(p.text[:4], p.text[4:6], p.text[6:])
		long := len(p.text) == 14 && isDate(p.text[:4], p.text[4:6], p.text[6:8])
		if !day && !long && len(rest) >= 2 && rest[0].number && rest[1].number && len(rest[0].text) == 2 && len(rest[1].text) == 2 &&
			isDate(p.text, rest[0].text, rest[1].text) {
			day, rest[0].used, rest[1].used = true, true, true
			rest = rest[2:]
		}
		if !day && !long && yearLast(p, rest) {
			day, rest[0].used, rest[1].used = true, true, true
			rest = rest[2:]
		}
		if !day && !long {
			day = ofMonth(ps, i)
			if rest = ps[i+1:]; day {
				rest = rest[1:]
			}
		}
		if !day && !long {
			if day = beforeTime(ps, i); day && months[ps[i+1].text] {
				rest = rest[1:]
			}
		}
		if p.used = day || long; !day {
			continue
		}
		if len(rest) > 0 && rest[0].text == "t" {
			rest = rest[1:]
		}
		switch {
		case len(rest) > 0 && rest[0].number && (len(rest[0].text) == 6 || len(rest[0].text) == 4):
			rest[0].used = true
		case len(rest) > 1 && rest[0].number && rest[1].number && len(rest[0].text) == 2 && len(rest[1].text) == 2:
			rest[0].used, rest[1].used = true, true
			if len(rest) > 2 && rest[2].number && len(rest[2].text) == 2 {
				rest[2].used = true
				if len(rest) == 4 && rest[3].number && len(rest[3].text) <= 2 { // the zone, or which of the same second
					rest[3].used = true
				}
			}
		}
	}
}

// months by their first letters.
var months = set("jan feb mar apr may jun jul aug sep oct nov dec january february march april june july august september october november december")

// yearLast reports whether a piece begins a date as 20_11_2026 and 11-20-2026 are written, all digits of it.
func yearLast(p *piece, rest []piece) bool {
	if len(p.text) != 2 || len(rest) < 2 || !rest[0].number || !rest[1].number || len(rest[0].text) != 2 || len(rest[1].text) != 4 || rest[1].text < "2010" {
		return false
	}
	return isDate(rest[1].text, rest[0].text, p.text) || isDate(rest[1].text, p.text, rest[0].text)
}

// ofMonth reports whether a piece is the day behind the name of a month, and marks the year behind it.
func ofMonth(ps []piece, i int) bool {
	if i == 0 || i+1 == len(ps) || !months[ps[i-1].text] || !ps[i+1].number || len(ps[i+1].text) != 4 || !isDate(ps[i+1].text, "1", ps[i].text) {
		return false
	}
	ps[i+1].used = true
	return true
}

// beforeTime reports whether a piece is the day beside the name of a month, of a year that is not said, with a time behind it:
// 20-Nov_10-15, Nov20_10-15-00.
func beforeTime(ps []piece, i int) bool {
	rest := ps[i+1:]
	switch {
	case len(rest) > 0 && months[rest[0].text]:
		rest = rest[1:]
	case i == 0 || !months[ps[i-1].text]:
		return false
	}
	return isDate("2000", "1", ps[i].text) && len(rest) > 1 && isTimeOfDay(rest[0].text, rest[1].text)
}

func isTimeOfDay(hour, minute string) bool {
	h, ok1 := digits(hour)
	m, ok2 := digits(minute)
	return ok1 && ok2 && len(hour) == 2 && len(minute) == 2 && h < 24 && m < 60
}

func isDate(year, month, day string) bool {
	y, ok1 := digits(year)
	m, ok2 := digits(month)
	d, ok3 := digits(day)
	return ok1 && ok2 && ok3 && 1990 <= y && y <= 2099 && 1 <= m && m <= 12 && 1 <= d && d <= 31
}
