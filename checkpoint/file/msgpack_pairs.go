package file

// isPairs reports whether a file begins as a stream of pairs does: the path of an array as a list of texts, and the array,
// packed once more. So large states are written one array after another.
func isPairs(head []byte) bool {
	return len(head) > 3 && head[0] == 0x92 && 0x91 <= head[1] && head[1] <= 0x9f && 0xa1 <= head[2] && head[2] <= 0xbf && ' ' < head[3] && head[3] < 0x7f
}

// pairs reads such a stream to its end. It becomes a dict of dicts.
func (m *msgpack) pairs(int) (*Shape, error) {
	root := m.new(Dict)
	for m.w.err == nil && m.w.left() > 0 {
		if m.last = m.w.byte(); m.last != 0x92 {
			return nil, errMsgpack
		}
		keys, err := m.value(1)
		if err != nil {
			return nil, err
		}
		if keys != nil && keys.Kind != List {
			return nil, errMsgpack
		}
		c := m.w.byte()
		if m.last = c; c < 0xc4 || c > 0xc6 {
			return nil, errMsgpack
		}
		length := m.big(1 << (c - 0xc4))
		if m.w.err == nil && length > uint64(m.w.left()) {
			m.w.err = errShort
			return nil, m.w.err
		}
		end := uint64(m.w.offset()) + length
		v, err := m.value(1)
		if err != nil {
			return nil, err
		}
		if at := uint64(m.w.offset()); at > end {
			return nil, errMsgpack
		} else if at < end {
			m.w.skip(end - at)
		}
		if root != nil && keys != nil && v != nil {
			m.put(root, keys.Values, v)
		}
	}
	return root, m.w.err
}

// put puts a value where its path leads to.
func (m *msgpack) put(in *Shape, keys []*Shape, v *Shape) {
	for i, k := range keys {
		if k.Kind != Text || in.Kind != Dict {
			return
		}
		next := in.Get(k.Text)
		if next == nil {
			if next = v; i < len(keys)-1 {
				if next = m.new(Dict); next == nil {
					return
				}
			}
			in.Keys, in.Values = append(in.Keys, k.Text), append(in.Values, next)
			in.Pairs++
		}
		in = next
	}
}
