package history

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// held must not be closed by the garbage collector.
var held []*os.File

// Live holds a file in dir for as long as this process lives, whatever kills it, and then looks whose files are held: of two
// processes at least the one that comes later sees the other, in whatever namespace it is. It returns those of other
// rounds.
func Live(dir string, round int, name string) (beside []string, err error) {
	own, err := os.OpenFile(filepath.Join(dir, fmt.Sprint(name, "-", os.Getpid())), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	held = append(held, own)
	if err := retry(func() error { return syscall.Flock(int(own.Fd()), syscall.LOCK_EX) }); err != nil {
		return nil, err
	}
	all, err := Alive(dir)
	for _, other := range all {
		if !strings.HasPrefix(other, strconv.Itoa(round)+"-") {
			beside = append(beside, other+" is alive")
		}
	}
	return beside, err
}

// Alive are the names in dir that a living process holds.
func Alive(dir string) (names []string, err error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		f, err := os.Open(filepath.Join(dir, file.Name()))
		if err != nil {
			return nil, err
		}
		err = retry(func() error { return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) })
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			names = append(names, file.Name())
		} else if err != nil {
			return nil, err
		}
	}
	return names, nil
}

func retry(do func() error) (err error) {
	for {
		if err = do(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
