package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/gangrun/gangrun/internal/plain"
	"github.com/gangrun/gangrun/observe/report"
)

func reportCommand(p *program) *cli.Command {
	var output, html string
	settings := []*setting{
		{name: "output", short: "o", group: groupOwn, hint: "text|json", parse: choice(&output, "text", "json"), standard: "text", usage: "form of the report"},
		{name: "html", group: groupOwn, hint: "FILE", parse: text(&html), standard: "none", usage: "write it as a page, too: one file that needs no other"},
	}
	return &cli.Command{
		Name:  "report",
		Usage: "show where a job's time went, from the events of its nodes",
		CustomHelpTemplate: help("report", "[flags] EVENTS...", "report node0.events node1.events",
			"EVENTS are the files of --events, one for each node; older ones beside them are read, too. - is standard input.\n"+
				"Exits 0, 64 for a mistake, 66 when a file cannot be read or holds no events of one job.", settings),
		Flags:        flags(settings),
		Before:       withoutSupervising,
		OnUsageError: func(c *cli.Context, err error, _ bool) error { return usage(c, err) },
		Action: func(c *cli.Context) error {
			if err := resolveGiven(settings); err != nil {
				return err
			}
			if c.NArg() == 0 {
				return &configError{"no events to read; want gangrun report EVENTS..."}
			}
			events, problems, err := report.Read(c.Args().Slice(), os.Stdin)
			var r *report.Report
			if err == nil {
				r, err = report.Build(events, problems)
			}
			if err != nil {
				if errors.Is(err, report.ErrNoEvents) {
					err = fmt.Errorf("%s: %w; want a file that --events has written", strings.Join(c.Args().Slice(), ", "), err)
				}
				fmt.Fprintln(os.Stderr, "gangrun:", plain.Lines(err.Error()))
				p.code = codeNoInput
				return nil
			}
			if html != "" {
				if err := writePage(html, r); err != nil {
					return &configError{"--html: " + err.Error()}
				}
			}
			if output == "json" {
				enc := json.NewEncoder(stdout)
				enc.SetIndent("", "  ")
				return enc.Encode(r)
			}
			r.Text(stdout)
			return nil
		},
	}
}

func writePage(path string, r *report.Report) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := r.HTML(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
