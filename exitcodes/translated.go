package exitcodes

import (
	"bytes"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// translated are what the C library and bash call a death by a signal in other languages: Chinese, Japanese, German, French,
// Russian, Korean, Spanish.
var translated = map[string]int{
	"已杀死": sigkill, "強制終了": sigkill, "Getötet": sigkill, "Abgebrochen (Killed)": sigkill, "Processus arrêté": sigkill,
	"Tué": sigkill, "Убито": sigkill, "Убит": sigkill, "죽었음": sigkill, "Terminado (killed)": sigkill, "Matado": sigkill,
	"段错误": sigsegv, "セグメンテーションフォルト": sigsegv, "Speicherzugriffsfehler": sigsegv, "Adressierungsfehler": sigsegv,
	"Erreur de segmentation": sigsegv, "Ошибка сегментирования": sigsegv, "Ошибка сегментации": sigsegv,
	"세그멘테이션 오류": sigsegv, "세그먼테이션 오류": sigsegv, "Violación de segmento": sigsegv,
	"总线错误": sigbus, "バスエラー": sigbus, "Bus-Zugriffsfehler": sigbus, "Bus-Fehler": sigbus, "Erreur du bus": sigbus,
	"Erreur de bus": sigbus, "Ошибка шины": sigbus, "버스 오류": sigbus, "Error del bus": sigbus,
	"已放弃": sigabrt, "中止": sigabrt, "Abgebrochen": sigabrt, "Abandon": sigabrt, "Аварийный останов": sigabrt, "중지됨": sigabrt,
	"Abortado": sigabrt, "已终止": sigterm, "Beendet": sigterm, "Abgebrochen (Terminated)": sigterm, "Complété": sigterm,
	"Terminé": sigterm, "Завершено": sigterm, "Прерван": sigterm, "종료됨": sigterm, "중단됨": sigterm, "Terminado": sigterm,
}

// translatedDeath reads a shell's word about a child that a signal killed, where it is in another language: "已杀死",
// "段错误 (核心已转储)", "run.sh: 第 7 行： 1234 已杀死   python train.py". sure tells that nothing else is meant: alone, the words
// for an abort and for an end are those of a program that gives up, or is done.
func translatedDeath(text []byte) (signal int, sure bool) {
	text = bytes.TrimSpace(text[:min(len(text), maxDeath)])
	if len(text) <= maxTranslated {
		said := string(text)
		if signal, found := translated[said]; found {
			return signal, signal != sigabrt && signal != sigterm
		}
		if i := strings.IndexAny(said, "(（"); i > 0 && strings.ContainsAny(said[len(said)-1:], ")") || strings.HasSuffix(said, "）") {
			signal = translated[strings.TrimSpace(said[:max(i, 0)])]
			return signal, signal != 0
		}
	}
	if i := bytes.IndexAny(text, ":："); i < 0 || !inShell(text) {
		return 0, false
	}
	if m := translatedPattern().FindSubmatch(text); m != nil {
		signal = translated[string(m[1])]
		return signal, signal != sigterm // which somebody has sent
	}
	return 0, false
}

const maxTranslated = 160 // bytes of a word and of what stands behind it in parentheses

// inShell reports whether a line names a line of a script in one of these languages.
func inShell(text []byte) bool {
	for _, word := range []string{" 行", " Zeile ", " ligne ", " строка ", " 줄 ", " línea "} {
		if bytes.Contains(text, []byte(word)) {
			return true
		}
	}
	return false
}

var translatedPattern func() *regexp.Regexp = func() func() *regexp.Regexp {
	words := slices.SortedFunc(maps.Keys(translated), func(a, b string) int { return len(b) - len(a) })
	for i := range words {
		words[i] = regexp.QuoteMeta(words[i])
	}
	return lazy(`(?::|：) *\d+ (` + strings.Join(words, "|") + `)(?:[ (（]|$)`)
}()
