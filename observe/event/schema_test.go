package event

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// details are the keys that events of these types have beside the common ones.
var details = map[Type]string{
	RunStarted: "started", RoundBegan: "began", RoundRunning: "running", CheckpointSaved: "checkpoint",
	RoundStopping: "stopping", WorkerFailed: "failed", RoundEnded: "roundEnd", Leaving: "leave", RunEnded: "end",
	EventsDropped: "dropped",
}

// words are the values that a key of such a type can have.
var words = map[reflect.Type][]string{
	reflect.TypeFor[Kind]():              {string(Failure), string(Departure), string(Store), string(Asked)},
	reflect.TypeFor[By]():                {string(ByWorker), string(ByJob), string(ByOutside), string(ByHealth)},
	reflect.TypeFor[exitcodes.Verdict](): {"success", "retry", "fatal", "preempted", "suspended"},
}

// types are those of events, all of them.
var types = []Type{
	RunStarted, RoundBegan, RoundRunning, Progress, SavingBegan, SavingEnded, StragglerFound, StragglerOver,
	CheckpointSaved, RoundStopping, WorkerFailed, RoundEnded, Leaving, RunEnded, EventsDropped,
}

// schema is the JSON Schema (2020-12) of one event, from the types of this package.
func schema() []byte {
	s := schemaOf(reflect.TypeFor[Event]())
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "An event of gangrun, version 1"
	properties := s["properties"].(map[string]any)
	properties["v"] = map[string]any{"const": Version}
	properties["type"] = map[string]any{
		"type": "string", "description": "types may be added: " + strings.Join(names(), ", "),
	}
	var rules []any
	for _, t := range types {
		if key, found := details[t]; found {
			rules = append(rules, map[string]any{
				"if":   map[string]any{"properties": map[string]any{"type": map[string]any{"const": t}}},
				"then": map[string]any{"required": []string{key}},
			})
		}
	}
	s["allOf"] = rules
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic(err) // it is made of strings
	}
	return append(out, '\n')
}

func names() (list []string) {
	for _, t := range types {
		list = append(list, string(t))
	}
	return list
}

func schemaOf(t reflect.Type) map[string]any {
	if list := words[t]; list != nil {
		return map[string]any{"enum": list}
	}
	if t == reflect.TypeFor[time.Time]() {
		return map[string]any{"type": "string", "format": "date-time"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem())
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.Struct:
		return object(t)
	}
	return map[string]any{"type": "string"}
}

// object is a structure: what is never left out is required.
func object(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		properties[name] = schemaOf(field.Type)
		if options == "" {
			required = append(required, name)
		}
	}
	slices.Sort(required)
	return map[string]any{"type": "object", "properties": properties, "required": required}
}
