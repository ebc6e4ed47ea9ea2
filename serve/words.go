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
	"state.running":   {"running", "运行中"},
	"state.done":      {"done", "完成"},
	"state.stopped":   {"stopped", "已停止"},
	"state.failed":    {"failed", "失败"},
	"state.killed":    {"killed", "被终止"},
	"state.damaged":   {"damaged", "已损坏"},
	"state.waiting":   {"not begun", "未开始"},
	"state.silent":    {"silent for %s", "已 %s 无响应"},
	"hint.running":    {"a process holds its lock (%s)", "有进程持有其锁（%s）"},
	"hint.killed":     {"it says that it runs, but no process holds its lock; hop train --resume goes on with it", "它自称在运行，但没有进程持有其锁；可用 hop train --resume 继续"},
	"hint.stopped":    {"stopped on the way; hop train --resume goes on with it", "中途停止；可用 hop train --resume 继续"},
	"hint.unsealed":   {"not yet held against its sums", "尚未与校验和核对"},
	"runs.search":     {"Search runs, presets, tags, notes", "搜索运行、预设、标签、备注"},
	"runs.caption":    {"Trainings, newest first, with state, progress and result", "训练列表：状态、进度与结果，最新在前"},
	"runs.count":      {"%d trainings", "%d 个训练"},
	"runs.count.some": {"%d of %d trainings", "%d / %d 个训练"},
	"runs.none":       {"There is no run below %s yet. It shows up here as soon as one begins:", "%s 中还没有运行。一旦开始就会出现在这里："},
	"runs.match":      {"No run matches.", "没有匹配的运行。"},
	"runs.run":        {"Run", "运行"},
	"runs.state":      {"State", "状态"},
	"runs.seeds":      {"Seeds", "种子"},
	"runs.progress":   {"Progress, env steps", "进度（环境步）"},
	"runs.left":       {"%s left", "剩余 %s"},
	"runs.result":     {"Result, 95 %% over seeds", "结果（种子间 95 %%）"},
	"runs.scored":     {"mean return of the final agents of %d of %d seeds; %s", "%d / %d 个种子最终智能体的平均回报；%s"},
	"runs.nointerval": {"one seed bounds nothing", "一个种子无法给出区间"},
	"runs.interval":   {"Student's 95 %% interval over seeds: %s", "种子间的 Student 95 %% 区间：%s"},
	"runs.moving":     {"not all seeds are scored yet", "并非所有种子都已评分"},
	"runs.findings":   {"Findings", "发现"},
	"runs.tags":       {"Tags and note", "标签与备注"},
	"runs.started":    {"Begun", "开始"},
	"runs.pick":       {"choose %s", "选择 %s"},
	"runs.pick.all":   {"choose all that are shown", "选择所有显示的"},
	"runs.picked":     {"%d chosen", "已选 %d 个"},
	"runs.clear":      {"clear", "清除"},
	"runs.edit":       {"edit tags and note of %s", "编辑 %s 的标签与备注"},
	"runs.edit.tags":  {"Tags, separated by commas", "标签，用逗号分隔"},
	"runs.edit.note":  {"Note", "备注"},
	"runs.save":       {"Save", "保存"},
	"runs.cancel":     {"Cancel", "取消"},
	"runs.open":       {"show the seeds of %s", "显示 %s 的各个种子"},
	"runs.report":     {"report", "报告"},
	"runs.more":       {"The first %d of %d are shown.", "显示前 %d 个，共 %d 个。"},
	"runs.all":        {"Show all", "显示全部"},
	"runs.seed":       {"seed %d", "种子 %d"},
	"runs.rate":       {"%s steps/s", "%s 步/秒"},
	"keys.search":     {"search", "搜索"},
	"keys.down":       {"next run", "下一个运行"},
	"keys.up":         {"run before", "上一个运行"},
	"keys.pick":       {"choose or leave it", "选择或取消"},
	"keys.curves":     {"curves of what is chosen", "查看所选的曲线"},
	"keys.compare":    {"compare what is chosen", "比较所选"},
	"keys.open":       {"show its seeds", "显示其种子"},
	"keys.edit":       {"edit tags and note", "编辑标签与备注"},

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
	return strings.ReplaceAll(text, "%%", "%")
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
