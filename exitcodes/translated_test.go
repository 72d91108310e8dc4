package exitcodes

import "testing"

// TestTranslatedDeath has shells tell of a child's death in other languages, and programs say what looks like it.
func TestTranslatedDeath(t *testing.T) {
	for text, want := range map[string]Verdict{
		"已杀死":         Retry,
		"段错误 (核心已转储)": Retry,
		"段错误（核心已转储）":  Retry,
		"已放弃 (核心已转储)": Retry,
		"run.sh: 第 7 行： 1234 已杀死               python train.py":      Retry,
		"run.sh: Zeile 7:  1234 Getötet                 python a.py": Retry,
		"run.sh : ligne 7 : 1234 Tué                 python a.py":    Retry,
		"run.sh: línea 7:  1234 Abortado   (`core' generado) python": Retry,
		"Speicherzugriffsfehler (Speicherabzug geschrieben)":         Retry,
		"Ошибка сегментирования (образ памяти сброшен на диск)":      Retry,
		"죽었음": Retry,
		"程式記憶體區段錯誤 (核心已傾印)":                                                           Retry,
		"Neoprávněný přístup do paměti (SIGSEGV) (core dumped [obraz paměti uložen])": Retry,
		"Ucciso": Retry,
		"run.sh: 第 7 列： 1234 強制結束            python train.py":                          Retry,
		"run.sh: linia 7:  1234 Unicestwiony           python a.py":                    Retry,
		"run.sh, linha 7:  1234 Morto                   python a.py":                   Retry,
		"run.sh línia 7:  1234 Matat                   python a.py":                    Retry,
		"run.sh: 7. sor:  1234 Kilőve                  python a.py":                    Retry,
		"run.sh: 7 行:  1234 強制終了            python a.py":                               Retry,
		"run.sh: riga 7:  1234 Annullato               (core dump creato) python a.py": Retry,
		"run.sh: riga 7:  1234 Terminato               python a.py":                    Fatal,
		"已放弃":       Fatal,
		"Terminado": Fatal,
		"已杀死 3 个进程": Fatal,
		"run.sh: Zeile 7:  1234 Beendet  python a.py": Fatal,
		"epoch 7: 1234 Abandon":                       Fatal,
	} {
		o := exited(1)
		o.Output = []byte("step 1\n" + text + "\n")
		if f := Judge(o, BuiltinRules()); f.Verdict != want {
			t.Errorf("%q: %s by %q", text, f.Verdict, f.Rule)
		}
	}
	for text, code := range map[string]int{"已杀死": 137, "Terminé": 143, "중지됨 (코어 덤프됨)": 134, "セグメンテーションフォルト (コアダンプ)": 139} {
		for _, other := range []int{137, 143, 134, 139} {
			o := exited(other)
			o.Output = []byte("step 1\n" + text + "\n")
			if f := Judge(o, BuiltinRules()); f.Verdict == Fatal || (f.Evidence == text) != (code == other) {
				t.Errorf("%q over %d: %s by %q", text, other, f.Verdict, f.Evidence)
			}
		}
	}
}

// Whatever shellKilled knows has one of the words for which a line is asked at all.
func TestShellWords(t *testing.T) {
	lines := append([]string{"Killed", "12%|### | 3/9 [00:01<00:02]Killed", "a.sh: line 3: 77 Killed   python t.py"}, crashNames...)
	for word, signal := range translated() {
		if signal != sigabrt && signal != sigterm {
			lines = append(lines, word)
		}
	}
	for _, text := range lines {
		l := line{text: []byte(text)}
		l.traits = traitsOf(&l)
		if !shellKilled(l.text) || !l.shellKilled() {
			t.Errorf("%q: %v by itself, %v by its traits", text, shellKilled(l.text), l.shellKilled())
		}
	}
}
