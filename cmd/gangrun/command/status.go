package command

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gangrun/gangrun/exitcodes/crash"
	"github.com/gangrun/gangrun/rendezvous/agent"
	"github.com/gangrun/gangrun/rendezvous/location"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// How often a watch is redrawn, whether or not anything has changed, and how often the jobs are listed again: there is no
// watch for that list.
const (
	drawEvery = time.Second
	listEvery = 2 * time.Second
)

func statusCommand(p *program) *cli.Command {
	r := newJobClient(p)
	return r.command(jobCommand{
		name: "status", usage: "show a job: its nodes, its rounds, and what it waits for", example: "--watch my-job",
		arguments: "[flags] [JOB]",
		note: "Without a job it lists those of the namespace, or shows the only one of a store within gangrun.\n" +
			"Exits with 0 when the store has a record of the job, 66 when it has none, 69 when the store cannot be " +
			"reached.",
		readOnly: true,
		own: []*setting{
			{
				name:   "watch",
				group:  groupOwn,
				isBool: true,
				parse:  boolean(&r.watch),
				usage:  "show it again at each change; redrawn in place on a terminal",
			},
			{
				name:     "output",
				short:    "o",
				group:    groupOwn,
				hint:     "text|json",
				parse:    choice(&r.output, "text", "json"),
				standard: "text",
				usage:    "form of the report; json is one object on each line",
			},
		},
		unnamed: r.list,
		act: func(ctx context.Context, st store.Store) error {
			if r.watch {
				return r.follow(context.WithoutCancel(ctx), st) // the time limit was for reaching the store
			}
			found := false
			err := agent.Watch(ctx, st, func(s agent.Status) bool {
				if found = known(s); found {
					r.show(stdout, s, time.Now(), 0)
				}
				return false
			})
			if err == nil && !found {
				err = agent.ErrNoJob
			}
			return err
		},
	})
}

// known reports whether there is something to show.
func known(s agent.Status) bool { return s.Job != nil || len(s.Unreadable) > 0 }

// follow shows the job until nobody reads it any more, or the store is gone.
func (r *jobClient) follow(ctx context.Context, st store.Store) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	updates, ended := make(chan agent.Status), make(chan error, 1)
	crash.Go(func() {
		ended <- agent.Watch(ctx, st, func(s agent.Status) bool {
			select {
			case updates <- s:
				return true
			case <-ctx.Done():
				return false
			}
		})
	})
	v := newView(r.output)
	draw := time.NewTicker(drawEvery)
	defer draw.Stop()
	var last *agent.Status
	for {
		select {
		case err := <-ended:
			return err
		case s := <-updates:
			last = &s
			if v.screen != nil {
				draw.Reset(drawEvery)
			}
		case <-draw.C:
			if v.screen == nil || last == nil {
				continue
			}
		}
		if err := v.show(func(w io.Writer, most int) int {
			return r.show(w, *last, time.Now(), most)
		}); err != nil {
			return nil // nobody reads it any more
		}
	}
}

// show writes the job, of at most that many nodes, and returns how many it has.
func (r *jobClient) show(w io.Writer, s agent.Status, now time.Time, most int) (nodes int) {
	if r.output == "json" {
		enc := json.NewEncoder(w)
		_ = enc.Encode(s) // to standard output, which the exit code would not help
		return 0
	}
	showStatus(w, r.location.Job, s, now, most)
	if s.Job == nil {
		return 0
	}
	return len(statusRows(s))
}

// view is where a watch shows what it sees: in place on a terminal, else one after the other.
type view struct {
	out    io.Writer
	screen *screen // nil: no terminal, or not for people
	shown  bool
	plain  bool
}

func newView(output string) *view {
	v := &view{out: stdout, plain: output == "text"}
	if v.plain && isTerminal(os.Stdout) && os.Getenv("TERM") != "dumb" {
		v.screen = &screen{w: os.Stdout}
	}
	return v
}

// show shows what write writes. If there is no room for all rows, write is asked for fewer.
func (v *view) show(write func(w io.Writer, most int) (rows int)) error {
	var b bytes.Buffer
	if v.screen == nil {
		if v.plain && v.shown {
			b.WriteByte('\n')
		}
		v.shown = true
		write(&b, 0)
		_, err := v.out.Write(b.Bytes())
		return err
	}
	width, height := terminalSize(os.Stdout)
	rows := write(&b, 0)
	if over := bytes.Count(b.Bytes(), []byte{'\n'}) - (height - 1); over > 0 && rows > 1 {
		b.Reset()
		write(&b, max(1, rows-over-1)) // one line says how many more there are
	}
	return v.screen.draw(b.String(), width, height)
}

// list shows the jobs of the namespace.
func (r *jobClient) list(ctx context.Context, l location.Location) error {
	v := newView(r.output)
	for first := true; ; first = false {
		jobs, more, err := location.Jobs(ctx, l)
		switch {
		case err != nil && first:
			return err
		case err != nil: // the next time, perhaps
		case len(jobs) == 0 && r.endpoints == "":
			return agent.ErrNoJob
		default:
			err := v.show(func(w io.Writer, _ int) int { r.showJobs(w, jobs, more); return 0 })
			if err != nil || !r.watch { // nobody reads it any more
				return nil
			}
		}
		ctx = context.WithoutCancel(ctx) // the time limit was for reaching the store; each request has one of its own
		time.Sleep(listEvery)
	}
}

func (r *jobClient) showJobs(w io.Writer, jobs []location.Job, more bool) {
	if r.output == "json" {
		if jobs == nil {
			jobs = []location.Job{}
		}
		_ = json.NewEncoder(w).Encode(struct {
			Jobs []location.Job `json:"jobs"`
			More bool           `json:"more,omitempty"`
		}{jobs, more})
		return
	}
	showJobs(w, cmp.Or(r.namespace, "default"), jobs, more, time.Now())
}
