package exitcodes

import (
	"bytes"
	"strconv"
	"strings"
)

// saysSQL is how databases begin what they number.
var saysSQL = phrases.list("sqlstate", "error 1", "error 2", "('", "(1", "(2", "(4")

var sqlPattern = lazy(`SQLSTATE[ :=]{0,2}\[?([0-9A-Z]{5})\b|^\('([0-9A-Z]{5})', |^\((\d{4}), ['"]|\bERROR (\d{4}) \(`)

// sqlFamily reads the number of a database: the five characters of the standard, or MySQL's.
func sqlFamily(_, _ string, message []byte, h heard) family {
	if !h.any(saysSQL) {
		return family{}
	}
	m := sqlPattern().FindSubmatch(message)
	if m == nil {
		return family{}
	}
	code := string(bytes.Join(m[1:], nil))
	if n, err := strconv.Atoi(code); err == nil && len(code) == 4 {
		switch n {
		case 1040, 1053, 1077, 1078, 1079, 1080, 1152, 1158, 1159, 1160, 1161, 1184, 1203, 1205, 1213, 1317, 1927, 2002, 2003, 2005, 2006, 2013, 2055, 3169, 4031:
			return transient("sql", "ServiceUnavailable", RoleSuspect)
		}
		return family{}
	}
	for _, class := range []string{"08", "40", "57P", "HYT", "55P03", "53300", "53400", "25006", "57014", "58030", "70100"} {
		if strings.HasPrefix(code, class) {
			return transient("sql", "ServiceUnavailable", RoleSuspect)
		}
	}
	return family{}
}
