package main

import (
	"fmt"
	"strings"
	"time"
)

// goal is what is aimed at, in percent.
const goal = 97

// often is the other interval between saves that is shown beside the assumed one.
const often = 3 * time.Minute

// scenario is a run with somebody who recovers it.
type scenario struct {
	name string
	assumptions
	who func(assumptions) recoverer
}

func gangrun(a assumptions) recoverer { return newJob(a) }

func (s scenario) run() result { return train(s.assumptions, s.who(s.assumptions)) }

// beside are gangrun and its peers, at both intervals between saves.
func beside() (list []scenario) {
	for _, save := range []time.Duration{llama3().save, often} {
		a := llama3()
		a.save = save
		list = append(list,
			scenario{"gangrun", a, gangrun},
			scenario{"torchrun", a, func(a assumptions) recoverer { return torchrun(a) }},
			scenario{"new pods in 2 min", a, func(a assumptions) recoverer { return pods(a, 2*time.Minute) }},
			scenario{"new pods in 5 min", a, func(a assumptions) recoverer { return pods(a, 5*time.Minute) }})
	}
	for i := range list {
		list[i].name += ", saves every " + short(list[i].save)
	}
	return list
}

// spentOn is what the phases are called.
var spentOn = [phases]string{
	"effective", "trained again", "saves", "detection", "stop", "next round", "import and set-up", "load",
}

// compared is the table of gangrun beside its peers, in percent of the time.
func compared(names []string, results []result) string {
	rows := [][]string{append([]string{"percent of the time"}, spentOn[:]...)}
	for i, r := range results {
		row := []string{names[i]}
		for p := range phases {
			row = append(row, fmt.Sprintf("%.2f", r.percent(p)))
		}
		row[1] = "**" + row[1] + "**"
		rows = append(rows, row)
	}
	return table(rows)
}

// change is an assumption, and other values of it.
type change struct {
	what, assumed string
	values        []value
}

type value struct {
	name string
	set  func(*assumptions)
}

// times are values of an assumed time.
func times(what string, of func(*assumptions) *time.Duration, values ...time.Duration) change {
	a := llama3()
	c := change{what: what, assumed: short(*of(&a))}
	for _, v := range values {
		c.values = append(c.values, value{short(v), func(a *assumptions) { *of(a) = v }})
	}
	return c
}

// shares are values of a kind's share of the interruptions.
func shares(what string, k kind, values ...float64) change {
	a := llama3()
	c := change{what: what, assumed: fmt.Sprintf("%.0f %%", 100*float64(a.count[k])/float64(a.total()))}
	for _, v := range values {
		c.values = append(c.values, value{fmt.Sprintf("%v %%", v), func(a *assumptions) { *a = a.share(k, v) }})
	}
	return c
}

// changes are the assumptions whose weight is shown.
func changes() []change {
	rate := change{what: "interruptions in 54 days", assumed: fmt.Sprint(llama3().total())}
	for _, factor := range []float64{0.5, 2, 4} {
		rate.values = append(rate.values, value{
			fmt.Sprint(llama3().times(factor).total()), func(a *assumptions) { *a = a.times(factor) },
		})
	}
	fence := times("fence (`--fence-timeout`)",
		func(a *assumptions) *time.Duration { return (*time.Duration)(&a.fence) },
		30*time.Second, 2*time.Minute, 5*time.Minute)
	spare := change{what: "a replacement, where no spare waits", assumed: "a spare waits"}
	for _, d := range []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute} {
		spare.values = append(spare.values, value{short(d), func(a *assumptions) { a.spares, a.replacement = 0, d }})
	}
	return []change{
		rate,
		times("between saves", func(a *assumptions) *time.Duration { return &a.save },
			30*time.Minute, 5*time.Minute, often, time.Minute),
		times("a save stops training for", func(a *assumptions) *time.Duration { return &a.pause },
			0, 6300*time.Millisecond, 30*time.Second),
		times("and is complete after another", func(a *assumptions) *time.Duration { return &a.written },
			0, 2*time.Minute, 5*time.Minute),
		times("load of the checkpoint", func(a *assumptions) *time.Duration { return &a.load },
			10*time.Second, 2*time.Minute, 5*time.Minute),
		times("import of the packages", func(a *assumptions) *time.Duration { return &a.python },
			5*time.Second, time.Minute),
		times("set-up of the communicators", func(a *assumptions) *time.Duration { return &a.setup },
			5*time.Second, 2*time.Minute, 1047*time.Second),
		shares("lost nodes", lost, 0, 40),
		shares("hangs", hangs, 0, 40),
		fence,
		times("a step, by which the hang limit goes", func(a *assumptions) *time.Duration { return &a.step },
			time.Second, 30*time.Second, time.Minute),
		spare,
		times("the last process has stopped after", func(a *assumptions) *time.Duration { return &a.stop },
			time.Second, 20*time.Second),
	}
}

// sensitivity is the table of what becomes of the effective time where an assumption is another one.
func sensitivity() string {
	rows := [][]string{{"assumption", "assumed", "otherwise: effective time in percent"}}
	for _, c := range changes() {
		var parts []string
		for _, v := range c.values {
			a := llama3()
			v.set(&a)
			r := train(a, gangrun(a))
			text := fmt.Sprintf("%s: %.2f", v.name, r.percent(useful))
			if r.ended > 0 {
				text += fmt.Sprintf(" (the job ended %s)", counted(r.ended))
			}
			parts = append(parts, text)
		}
		rows = append(rows, []string{c.what, c.assumed, strings.Join(parts, "; ")})
	}
	return table(rows)
}

func counted(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// needs is what would have to be true for the goal.
func needs() string {
	rows := [][]string{{"if", "effective, percent"}}
	add := func(what string, set func(*assumptions)) float64 {
		a := llama3()
		set(&a)
		p := train(a, gangrun(a)).percent(useful)
		rows = append(rows, []string{what, fmt.Sprintf("%.2f", p)})
		return p
	}
	ideal := func(a *assumptions) {
		a.python, a.setup, a.load, a.stop, a.look, a.store = 0, 0, 0, 0, 0, 0
		a.pause, a.written = 0, 0
		*a = a.share(lost, 0).share(hangs, 0)
	}
	add("as assumed", func(*assumptions) {})
	add("every restart took no time at all, and a save none", ideal)
	best, tooRare := time.Duration(0), llama3().save
	for rare := often; rare+10*time.Second <= tooRare; { // the rarest that reaches it, to ten seconds
		a := llama3()
		a.save = rare
		if train(a, gangrun(a)).percent(useful) >= goal {
			best = rare
		} else {
			tooRare = rare
		}
		rare = ((max(best, often/3) + tooRare) / 2).Truncate(10 * time.Second)
		if rare == best {
			break
		}
	}
	if best > 0 {
		add(fmt.Sprintf("saves every %s, the rarest that reaches %d %%", short(best), goal),
			func(a *assumptions) { a.save = best })
	}
	add("saves every 2 min, import 10 s, set-up 5 s, load 20 s", func(a *assumptions) {
		a.save, a.python, a.setup, a.load = 2*time.Minute, 10*time.Second, 5*time.Second, 20*time.Second
	})
	add("saves every 3 min that stop training for 6.3 s", func(a *assumptions) {
		a.save, a.pause = 3*time.Minute, 6300*time.Millisecond
	})
	return table(rows)
}

// table is one of Markdown.
func table(rows [][]string) string {
	var b strings.Builder
	for i, row := range rows {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	return b.String()
}

// short is a time as a table has it.
func short(d time.Duration) string {
	switch {
	case d >= time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	default:
		return fmt.Sprintf("%v s", d.Seconds())
	}
}
