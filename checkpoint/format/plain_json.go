package format

import (
	"encoding/json"
	"errors"
	"path"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// jsonContent reads a file of JSON that stands beside tensors: a configuration, or how far the training is.
func (l *look) jsonContent(name string) (in content, err error) {
	in = content{step: -1, alone: true}
	data, err := l.small(name, maxJSON)
	if err != nil {
		if p, ok := errors.AsType[*problem.Error](err); ok && p.Reason == problem.SizeMismatch {
			return in, nil // too large to be about a step
		}
		return in, err
	}
	finite(data)
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return in, problem.New(problem.BadJSON, "%s: %v", name, err)
	}
	return jsonStep(v, in, 0, tellsProgress(path.Base(name))), nil
}

// jsonStep takes the step from a dict. done says that its numbers count what was done.
func jsonStep(v any, in content, depth int, done bool) content {
	m, ok := v.(map[string]any)
	if !ok {
		return in
	}
	numbers := map[string]int64{}
	for key, value := range m {
		if n, ok := value.(float64); ok && n >= 0 && n == float64(int64(n)) && n < 1<<53 {
			numbers[key] = int64(n)
		}
	}
	if !done { // a configuration says "epochs" of what is to be done
		delete(numbers, "epochs")
		delete(numbers, "steps")
	}
	in.count(numbers)
	for key, value := range m {
		if in.step < 0 && depth < 2 && within[strings.ToLower(key)] {
			in = jsonStep(value, in, depth+1, done)
		}
	}
	return in
}
