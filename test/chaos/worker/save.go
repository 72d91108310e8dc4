package main

import (
	"archive/zip"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
)

// store writes what torch.save would: a dictionary of a model, its optimizer, the step, and the round that has made it.
// When half of it is written it calls half.
func store(path string, made, step int, state string, renames bool, half func()) error {
	data := saved(made, step, state)
	at := path
	if renames {
		at += ".tmp"
	}
	f, err := os.Create(at)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(data[:len(data)/2]); err != nil {
		return err
	}
	time.Sleep(rand.N(300 * time.Millisecond)) // a disk takes its time, and whoever is killed meanwhile leaves half of it
	half()
	if _, err := f.Write(data[len(data)/2:]); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if renames {
		return os.Rename(at, path)
	}
	return nil
}

func saved(made, step int, state string) []byte {
	storages := [][]byte{[]byte(state), []byte(fmt.Sprintf("%-64s", fmt.Sprint(step, " ", made)))}
	records := filetest.TorchRecords("archive", storages...)
	p := filetest.NewPickle(2).Op("}(").Text("step").Int(int64(step))
	for i, name := range []string{"model", "optimizer"} {
		p.Text(name).Op("}(").Text([]string{"weight", "exp_avg"}[i])
		p.Global("torch._utils", "_rebuild_tensor_v2").Op("((").Text("storage").Global("torch", "ByteStorage")
		p.Text(fmt.Sprint(i)).Text("cpu").Int(int64(len(storages[i]))).Op("tQK\x00K").Op(string([]byte{byte(len(storages[i]))}))
		p.Op("\x85K\x01\x85\x89ccollections\nOrderedDict\n)RtRu")
	}
	records[0].Data = p.Op("u").Stop()
	return filetest.Zip(records...)
}

func load(path string) (made, step int, state string, err error) {
	z, err := zip.OpenReader(path)
	if err != nil {
		return 0, 0, "", err
	}
	defer z.Close()
	var texts [2]string
	for i := range texts {
		f, err := z.Open(fmt.Sprint("archive/data/", i))
		if err != nil {
			return 0, 0, "", err
		}
		data, err := io.ReadAll(f)
		f.Close()
		if err != nil {
			return 0, 0, "", err
		}
		texts[i] = string(data)
	}
	_, err = fmt.Sscan(texts[1], &step, &made)
	return made, step, texts[0], err
}
