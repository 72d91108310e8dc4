package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gangrun/gangrun/checkpoint"
	"github.com/gangrun/gangrun/checkpoint/format"
	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/internal/plain"
)

func (i *inspection) selectCommand() *cli.Command {
	return i.command(&cli.Command{Name: "select", Usage: "print the path of the checkpoint that a run would resume from"},
		"DIR", "--max-age 72h /mnt/checkpoints",
		fmt.Sprintf("Prints one line, and on standard error why newer ones are passed over.\n"+checkpointCodes,
			"when there is one", "when there is none"),
		i.settings(append(i.policySettings(), i.timeoutSetting("1m"))...), i.choose)
}

func (i *inspection) choose(ctx context.Context, dir string) error {
	var chosen *format.Checkpoint
	var offer checkpoint.Offer
	var scan checkpoint.Scan
	err := bounded(ctx, i.limit(checkpoint.DefaultTimeout), func(ctx context.Context) error {
		fsys, err := i.tree(ctx, dir)
		if err != nil {
			return err
		}
		m, err := remembered(dir, fsys)
		if err != nil {
			return err
		}
		s := checkpoint.Scanner{FS: fsys, Options: i.options(), Timeout: i.limit(checkpoint.DefaultTimeout)}
		if !isURL(dir) {
			s.First = func(path string) bool { return checkpoint.FirstSave(dir, path) }
		}
		chosen, offer, scan, err = pick(ctx, &s, i.policy(), m, i.now)
		return err
	})
	if err != nil {
		return i.fail(dir, err)
	}
	for _, w := range offer.Warnings {
		i.say("%s", w)
	}
	if chosen == nil {
		i.worse(exitcodes.CodeCheckpointUnusable)
		i.say("%s", i.none(shown(dir), offer, scan))
		return nil
	}
	for n, c := range offer.Refused {
		if n == 10 {
			i.say("passed over %d more", len(offer.Refused)-n)
			break
		}
		i.say("passed over %s: %s: %s", c.Path, c.Reason, c.Detail)
	}
	if i.output == "json" {
		return i.encode(chosen)
	}
	full := within(dir, chosen.Path)
	if !plain.Is(full) {
		i.worse(codeUnknown)
		i.say("%s would be chosen, and its name is not one printable line; -o json prints it", quoted(full))
		return nil
	}
	fmt.Fprintln(i.out, full)
	return nil
}

// pick chooses as a run does: what would be chosen by the names and sizes of its files is verified first.
func pick(ctx context.Context, s *checkpoint.Scanner, p checkpoint.Policy, m checkpoint.History, now func() time.Time) (
	*format.Checkpoint, checkpoint.Offer, checkpoint.Scan, error) {
	var closely []string
	for {
		scan, err := s.Scan(ctx, closely...)
		if err != nil {
			return nil, checkpoint.Offer{}, scan, err
		}
		offer, err := p.Offer(scan, m, checkpoint.Run{}, now())
		if err != nil || offer.First().Fresh() {
			return nil, offer, scan, err
		}
		c := p.At(scan, m, offer.First())
		switch {
		case c == nil:
			return nil, offer, scan, errors.New("the step that was offered is not there")
		case c.Level >= format.Manifests || len(closely) > 0 && closely[len(closely)-1] == c.Path:
			return c, offer, scan, nil
		}
		closely = append(closely, c.Path)
	}
}

// none says why there is nothing to resume from.
func (i *inspection) none(dir string, offer checkpoint.Offer, scan checkpoint.Scan) string {
	if len(scan.Checkpoints) == 0 {
		return i.nothing(dir)
	}
	if offer.Asks {
		return fmt.Sprintf("%s: %s", dir, offer.Veto.Detail)
	}
	text := fmt.Sprintf("%s: none of %d checkpoints can be resumed from", dir, len(scan.Checkpoints))
	if len(offer.Refused) > 0 {
		newest := offer.Refused[0]
		text += fmt.Sprintf("; the newest, %s: %s: %s", newest.Path, newest.Reason, newest.Detail)
	}
	if offer.Veto != nil && (len(offer.Refused) == 0 || offer.Veto.Reason != offer.Refused[0].Reason) {
		text += fmt.Sprintf("; the newest that is whole: %v", offer.Veto)
	}
	return text
}
