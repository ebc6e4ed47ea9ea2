package serve

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// words are all words of the pages, in English and Chinese. Scripts get theirs from
// /api/words. What a program wrote (names, findings, refusals of package runlog) stays as
// it was written.
var words = map[string][2]string{
	// The frame of all pages.
	"page.runs":     {"Runs", "运行"},
	"page.curves":   {"Curves", "曲线"},
	"page.compare":  {"Compare", "比较"},
	"page.theatre":  {"Theatre", "剧场"},
	"page.join":     {"Join", "加入"},
	"page.diagnose": {"Diagnose", "诊断"},
	"page.start":    {"Start", "启动"},
	"page.error":    {"Not found", "找不到"},
	"skip":          {"Skip to the content", "跳到正文"},
	"nav":           {"Pages", "页面"},
	"lang.other":    {"中文", "English"},
	"live.on":       {"live", "实时"},
	"live.off":      {"not live: the connection is lost since %s, trying again", "不是实时：连接自 %s 起中断，正在重试"},
	"live.off.long": {"What is shown may have changed since.", "所示内容此后可能已有变化。"},
	"no.script":     {"Without scripts this page shows what was so when it was opened.", "没有脚本时，本页只显示打开时的情况。"},
	"keys":          {"Keyboard", "键盘"},
	"keys.help":     {"Keys of this page", "本页的按键"},
	"keys.close":    {"Close", "关闭"},
	"keys.show":     {"show or hide this help", "显示或隐藏此帮助"},
	"error.fetch":   {"The server did not answer: %s", "服务器没有回应：%s"},
	"error.back":    {"Back to the runs", "回到运行列表"},
	"loading":       {"reading…", "读取中…"},

	// Runs.

	// Curves.

	// Compare.

	// Theatre.
	"theatre.soon": {"This program cannot show episodes here yet; hop play can.", "此程序尚不能在这里展示回合；可用 hop play。"},

	// Join.
	"join.soon": {"This program has no seats for people here yet; hop play has.", "此程序尚不能在这里加入；可用 hop play。"},

	// Diagnose.
	"diagnose.soon": {"This program cannot start audits here yet; hop audit can.", "此程序尚不能在这里诊断；可用 hop audit。"},

	// Start.
	"start.soon": {"This program cannot start trainings here yet; hop train can.", "此程序尚不能在这里启动训练；可用 hop train。"},
}

// say returns a word in a language. A key that there is not is shown as it is: a test
// finds it.
func say(lang, key string, args ...any) string {
	w, ok := words[key]
	if !ok {
		return key
	}
	text := w[0]
	if lang == "zh" {
		text = w[1]
	}
	if len(args) > 0 {
		return fmt.Sprintf(text, args...)
	}
	return text
}

// language is what the address says, or the cookie from when it last did, or what the
// browser prefers.
func language(w http.ResponseWriter, r *http.Request) string {
	switch lang := r.URL.Query().Get("lang"); lang {
	case "en", "zh":
		if w != nil {
			http.SetCookie(w, &http.Cookie{
				Name: "hop-lang", Value: lang, Path: "/", SameSite: http.SameSiteStrictMode, MaxAge: int((365 * 24 * time.Hour).Seconds()),
			})
		}
		return lang
	}
	if c, err := r.Cookie("hop-lang"); err == nil && (c.Value == "en" || c.Value == "zh") {
		return c.Value
	}
	for _, part := range strings.Split(r.Header.Get("Accept-Language"), ",") {
		name, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(part)), ";")
		name, _, _ = strings.Cut(name, "-")
		if name == "en" || name == "zh" {
			return name
		}
	}
	return "en"
}

// wordsAPI returns all words of the reader's language.
func (s *Server) wordsAPI(r *http.Request) (any, error) {
	lang := language(nil, r)
	all := map[string]string{"lang": lang}
	for key := range words {
		all[key] = say(lang, key)
	}
	return all, nil
}
