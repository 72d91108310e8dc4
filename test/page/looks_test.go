package page_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLooksRight draws the page in all sizes and both themes; some of them, where time is short. Nothing complains, nothing sticks out, all controls have
// names, and text is text.
func TestLooksRight(t *testing.T) {
	b := open(t)
	for _, nodes := range []int{3, 1024} {
		s := &story{}
		address := s.serve(t)
		s.told(nodes)
		for _, size := range []struct {
			name          string
			width, height int
		}{{"phone", 360, 800}, {"tablet", 820, 1180}, {"desk", 1440, 900}, {"wall", 3840, 2160}} {
			for _, theme := range []string{"light", "dark"} {
				if sample := size.name == "phone" || size.name == "wall"; testing.Short() && (!sample ||
					(theme == "dark") != (nodes == 3)) {
					continue
				}
				t.Run(fmt.Sprintf("%d-%s-%s", nodes, size.name, theme), func(t *testing.T) {
					outer := b.t
					b.t, b.complaints = t, nil
					defer func() { b.t = outer }()
					b.do(
						"Emulation.setDeviceMetricsOverride",
						map[string]any{
							"width":             size.width,
							"height":            size.height,
							"deviceScaleFactor": 1,
							"mobile":            size.width < 600,
						},
						nil,
					)
					b.do("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{
						{
							"name":  "prefers-color-scheme",
							"value": theme,
						}, {"name": "prefers-reduced-motion", "value": "reduce"},
					}}, nil)
					b.do("Page.navigate", map[string]any{"url": address}, nil)
					b.until(`document.body.dataset.shown && document.querySelector("#rows .track i")`)
					b.looksRight(theme)
					b.picture(fmt.Sprintf("%d-nodes-%s-%s", nodes, size.name, theme))
				})
			}
		}
	}
}

// looksRight checks what can be checked of what is drawn.
func (b *browser) looksRight(theme string) {
	b.t.Helper()
	if wide := b.eval(`document.documentElement.scrollWidth - document.documentElement.clientWidth`); wide != 0.0 {
		b.t.Errorf("%v pixels stick out on the right", wide)
	}
	if wide := b.eval(`(e => e.scrollWidth - e.clientWidth)(document.querySelector(".scroll"))`); wide != 0.0 {
		b.t.Errorf("%v pixels of the interruptions are out of sight", wide)
	}
	if dark := b.eval(`parseInt(getComputedStyle(document.body).backgroundColor.slice(4)) < 100`); dark != (theme == "dark") {
		b.t.Errorf("dark: %v", dark)
	}
	if title := b.eval("document.title"); title != "step 3700, running: llama-7b" {
		b.t.Errorf("title %v", title)
	}
	text := fmt.Sprint(b.eval("document.body.innerText"))
	for _, want := range []string{"3700", "OOMKilled", "NCCLTimeout", "Watchdog caught collective", "<script>",
		"rank 3", "2 of 3", "round 3", "step 3300 loss 2.71", "Restarted, charged to the restart budget",
		"The others wait for rank 3: its steps take 420\u00a0ms longer, of 2.0\u00a0s, in 43 of the last 50; slow, too: rank 5.",
		"host gpu-7 until 2026-01-01 18:00:00 UTC", "from 3697 (node1) to 3700", "step 3250 is the newest that all nodes had"} {
		if !strings.Contains(text, want) {
			b.t.Errorf("no %q in %s", want, text)
		}
	}
	if n := b.eval(`document.querySelectorAll("img, iframe, script:not(:last-of-type)").length`); n != 0.0 {
		b.t.Errorf("%v elements that are none of the page's own", n)
	}
	if moves := b.eval(`[...document.querySelectorAll("*")].filter(e => getComputedStyle(e).transitionDuration !== "0s").length`); moves != 0.0 {
		b.t.Errorf("%v elements move", moves)
	}
	low := b.eval(contrast)
	if list, _ := low.([]any); len(list) > 0 {
		b.t.Errorf("too little contrast: %v", list)
	}
	var tree struct {
		Nodes []struct {
			Ignored    bool
			Role, Name struct{ Value any }
		}
	}
	b.do("Accessibility.getFullAXTree", nil, &tree)
	controls := 0
	for _, node := range tree.Nodes {
		switch role := node.Role.Value; role {
		case "button", "combobox", "link", "image", "region", "checkbox":
			if controls++; !node.Ignored && (node.Name.Value == nil || node.Name.Value == "") {
				b.t.Errorf("a %s without a name", role)
			}
		}
	}
	if controls < 5 {
		b.t.Errorf("only %d controls", controls)
	}
	for _, c := range b.complaints {
		if !strings.Contains(c, "favicon.ico") {
			b.t.Error(c)
		}
	}
}

// contrast lists texts with less than the 4.5 to 1 that the Web Content Accessibility Guidelines ask for.
const contrast = `(() => {
	const parse = c => c.match(/[\d.]+/g).map(Number);
	const part = v => v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4;
	const lum = c => { const [r, g, b] = parse(c).map(part); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const behind = e => {
		for (; e; e = e.parentElement) {
			const c = getComputedStyle(e).backgroundColor, p = parse(c);
			if (p.length < 4 || p[3] > 0) return c;
		}
		return "rgb(255,255,255)";
	};
	const low = [];
	for (const e of document.querySelectorAll("body *")) {
		if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
		if (!e.offsetParent || e.closest("noscript")) continue;
		const a = lum(getComputedStyle(e).color), b = lum(behind(e));
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (ratio < 4.5) low.push([e.tagName, e.className, e.textContent.slice(0, 20), ratio.toFixed(2)].join(" "));
	}
	return low;
})()`

// picture keeps what is seen, down to the end of the page.
func (b *browser) picture(name string) {
	b.t.Helper()
	dir := os.Getenv("GANGRUN_TEST_PICTURES")
	if dir == "" {
		return
	}
	var out struct{ Data string }
	b.do("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true}, &out)
	data, err := base64.StdEncoding.DecodeString(out.Data)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), data, 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}
