package format

import (
	"slices"
	"strings"
)

// orbaxTree is what Orbax notes of a tree of arrays: the path of each leaf, empty ones too.
type orbaxTree struct {
	Leaves map[string]struct {
		Path []struct {
			Key any `json:"key"`
		} `json:"key_metadata"`
	} `json:"tree_metadata"`
}

// slotWordsOfOptax are the fields in which optax keeps what belongs to an optimizer.
var slotWordsOfOptax = set("mu nu trace count inner_state hyperparams momentum velocity v_row v_col sum_of_squares ema loss_scale")

// orbaxWeights reports whether a step that is one tree, and has no number, holds nothing but parameters by the names of its leaves: all
// have names, and none is one that training continues with.
func (l *look) orbaxWeights(item *dir) (bool, error) {
	if !item.isFile("_METADATA") {
		return false, nil
	}
	var tree orbaxTree
	if err := l.orbaxJSON(item.join("_METADATA"), &tree); err != nil || len(tree.Leaves) == 0 {
		return false, err
	}
	found := false
	for _, leaf := range tree.Leaves {
		generators := false // those of a layer: flax's dropout counts its own numbers
		for i, p := range leaf.Path {
			key, named := p.Key.(string)
			if _, number := digits(key); i == 0 && (!named || number) {
				return false, nil // a tuple, of which the second may be anything
			}
			generators = generators || i > 0 && key == "rngs"
			if !generators && ofTrainingState(strings.ToLower(key)) {
				return false, nil
			}
		}
		if len(leaf.Path) == 0 {
			return false, nil
		}
		found = found || !generators
	}
	return found, nil
}

// ofTrainingState reports whether a name, in lower case, is that of something that training continues with.
func ofTrainingState(key string) bool {
	_, counts := countOf(key)
	return optimizerKey(key) || slotWordsOfOptax[key] || has(key, moreWords) || counts || slices.Contains(stepKeys, key) ||
		slices.Contains(epochKeys, key) || slices.Contains(weakKeys, key) || key == "key" || key == "tx" || strings.Contains(key, "state") && key != "batch_stats"
}
