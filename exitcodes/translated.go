package exitcodes

import (
	"bytes"
	"strings"
	"sync"
)

// translated are what the C library and bash call a death by a signal in the languages into which they are translated.
var translated = sync.OnceValue(func() map[string]int {
	words := map[string]int{}
	for signal, list := range map[int]string{
		sigkill: "Забіты|Безусловно прекъснат|Matat|Zabit (SIGKILL)|Zabit|Dræbt|Getötet|Abgebrochen (Killed)|Σκοτώθηκε|Buĉita|Terminado (killed)|" +
			"Tapettu|Processus arrêté|Tué|Matado|Ubijen|Kilőve|Terbunuh|Ucciso|強制終了|죽었음|Nutraukta (killed)|Drept|Geëlimineerd|Unicestwiony|Morto|" +
			"Убито|Убит|Zabitý|Pobit|Убијен|Dödad|Süreç durduruldu|Вбито|Bị buộc kết thúc|已杀死|强制结束|強制結束|已砍掉|砍掉",
		sigsegv: "Збой сэгмэнтацыі|Нарушение на разделянето(segfault)|Нарушение на разделянето|Violació de segment|Neoprávněný přístup do paměti (SIGSEGV)|" +
			"Neoprávněný přístup do paměti|Segmentfejl|Speicherzugriffsfehler|Adressierungsfehler|Σφάλμα κατάτμησης (segmentation fault)|Σφάλμα κατάτμησης|" +
			"Adres-eraro|Violación de segmento|Muistialueen ylitys|Erreur de segmentation|Fallo de segmento|Segmentacijska greška|Szegmentálási hiba|" +
			"Kerusakan segmentasi|Errore di segmentazione|セグメンテーションフォルト|세그멘테이션 오류|세그먼테이션 오류|Segmentavimo klaida|Minnesegmentsfeil|" +
			"Segmentatiefout|Naruszenie ochrony pamięci|Falta de segmentação|Falha de segmentação|Ошибка сегментирования|Ошибка сегментации|Chyba segmentácie|" +
			"Napaka segmentacije|Неуспех сегментације|Segmenteringsfel|Parçalama arızası|Помилка адресування|Lỗi phân đoạn|段错误|程式記憶體區段錯誤|記憶體區段錯誤",
		sigbus: "Памылка шыны|Грешка на адресната шина|Error de bus|Chyba na sběrnici (neplatná adresa) (SIGBUS)|Chyba na sběrnici|Busfejl|Bus-Zugriffsfehler|" +
			"Bus-Fehler|Σφάλμα στον δίαυλο(bus)|Bus-eraro|Error del bus|Väylävirhe|Erreur du bus|Erreur de bus|Erro no bus de datos|Sabirnička greška|Busz hiba|" +
			"Errore di bus|バスエラー|버스 오류|Magistralės klaida|Bussfeil|Busfout|Błąd szyny|Erro de bus|Erro no barramento|Ошибка шины|Chyba na zbernici|" +
			"Napaka vodila|Грешка сабирнице|Bussfel|Veri yolu hatası|Помилка каналу обміну даними|Lỗi bus|总线错误|匯流排錯誤",
		sigabrt: "Прекъснат|Avortat|Neúspěšně ukončen (SIGABRT)|Neúspěšně ukončen|Afbrudt (SIGABRT)|Afbrudt|Abgebrochen|Ακυρώθηκε|Abortita|Abortado|Keskeytetty|" +
			"Abandon|Prekid|Félbeszakítva|Dibatalkan|Annullato|中止|중지됨|Nutraukta (aborted)|Avbrutt (SIGABRT)|Avbrutt|Afgebroken|Przerwane|Аварийный останов|" +
			"Zrušené|Prekinjen|Прекинуто|Avbruten (SIGABRT)|Avbruten|İptal edildi|Перервано|Bị hủy bỏ|已放弃|已放棄",
		sigterm: "Завершаны|Прекратен|Terminat|Ukončen (SIGTERM)|Termineret|Beendet|Abgebrochen (Terminated)|Τερματίστηκε|Ĉesigita|Terminado|Päätetty|Complété|" +
			"Terminé|Završeno|Befejeződött|Terakhiri|Terminato|종료됨|중단됨|Užbaigta (terminated)|Terminert|Beëindigd|Zakończony|Завершено|Прерван|Ukončené|" +
			"Zaključen|Окончано|Avslutad|Sonlandırıldı|Припинено|Đã kết thúc|已终止|已終止|終止",
	} {
		for word := range strings.SplitSeq(list, "|") {
			words[word] = signal
		}
	}
	return words
})

// lineWords are what bash calls a line of a script in these languages.
var lineWords = []string{" ред ", "línia ", " řádek ", " linje ", " Zeile ", " γραμμή ", " linio ", " línea ", " rivi ", " ligne ", " liña ", " redak ", ". sor",
	" baris ", " riga ", " 行", " 列", " 줄 ", " eilutė", " regel ", " linia ", " linha ", " строка ", " riadok ", " vrstica ", " rad ", " satır ", " рядок ", " dòng "}

// translatedDeath reads a shell's word about a child that a signal killed, where it is in another language: "已杀死",
// "段错误 (核心已转储)", "run.sh: 第 7 行： 1234 已杀死   python train.py". sure tells that nothing else is meant: alone, the words
// for an abort and for an end are those of a program that gives up, or is done.
func translatedDeath(text []byte) (signal int, sure bool) {
	text = bytes.TrimSpace(text[:min(len(text), maxDeath)])
	if len(text) <= maxTranslated {
		said := string(text)
		if signal, found := translated()[said]; found {
			return signal, signal != sigabrt && signal != sigterm
		}
		for _, paren := range []string{" (", "（"} { // what is said of the core; some words have such a note of their own
			if i := strings.LastIndex(said, paren); i > 0 && (strings.HasSuffix(said, ")") || strings.HasSuffix(said, "）")) {
				if signal = translated()[strings.TrimSpace(said[:i])]; signal != 0 {
					return signal, true
				}
			}
		}
	}
	word := afterPid(text)
	if word == nil || !inShell(text) {
		return 0, false
	}
	longest := 0
	for w, n := range translated() {
		if len(w) > longest && bytes.HasPrefix(word, []byte(w)) && (len(word) == len(w) || word[len(w)] == ' ' || word[len(w)] == '(') {
			signal, longest = n, len(w)
		}
	}
	return signal, signal != 0 && signal != sigterm // which somebody has sent
}

const maxTranslated = 160 // bytes of a word and of what stands behind it in parentheses

// afterPid is what follows the number of a process behind the first colon that has one: "run.sh: 第 7 行： 1234 已杀死  python a.py".
// In Japanese the number of the line stands like that, too.
func afterPid(text []byte) []byte {
	for rest := text; ; {
		i := bytes.IndexAny(rest, ":：")
		if i < 0 {
			return nil
		}
		rest = bytes.TrimLeft(bytes.TrimPrefix(bytes.TrimPrefix(rest[i:], []byte(":")), []byte("：")), " ")
		if behind := bytes.TrimLeft(rest, "0123456789"); len(behind) < len(rest) && len(behind) > 1 && behind[0] == ' ' && !bytes.HasPrefix(behind, []byte(" 行")) {
			return behind[1:]
		}
	}
}

// inShell reports whether a line names a line of a script in one of these languages.
func inShell(text []byte) bool {
	for _, word := range lineWords {
		if bytes.Contains(text, []byte(word)) {
			return true
		}
	}
	return false
}
