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
	"theatre.run":                {"Run", "运行"},
	"theatre.runs":               {"Runs", "运行"},
	"theatre.games":              {"Games, without a run", "游戏（不用运行）"},
	"theatre.checkpoint":         {"Checkpoint", "检查点"},
	"theatre.newest":             {"the newest", "最新"},
	"theatre.seat":               {"Seat %d", "席位 %d"},
	"theatre.seed":               {"Seed", "种子"},
	"theatre.asking":             {"Who plays what", "谁在玩什么"},
	"theatre.show":               {"Show", "展示"},
	"theatre.group.run":          {"This run", "本次运行"},
	"theatre.group.bots":         {"Bots", "脚本"},
	"theatre.group.planners":     {"Planners", "规划者"},
	"theatre.group.runs":         {"Agents of other runs", "其他运行的智能体"},
	"theatre.group.asked":        {"As asked for", "按请求"},
	"theatre.age":                {"agent %d at step %d", "第 %d 号，第 %d 步时"},
	"theatre.intro":              {"Choose a checkpoint, who sits on each seat and a seed. The episode is played on the server as hop play does, with what every agent has in mind at every step.", "选择检查点、各席位由谁坐，以及种子。回合在服务器上按 hop play 的方式进行，并展示每一步每个智能体的想法。"},
	"theatre.waiting":            {"The episode is being played…", "正在进行这一回合…"},
	"theatre.board":              {"Board", "棋盘"},
	"theatre.transport":          {"Playback", "播放"},
	"theatre.first":              {"To the first step (Home)", "到第一步 (Home)"},
	"theatre.back":               {"One step back (←)", "后退一步 (←)"},
	"theatre.play":               {"Play or pause (Space)", "播放或暂停（空格）"},
	"theatre.forward":            {"One step forward (→)", "前进一步 (→)"},
	"theatre.last":               {"To the last step (End)", "到最后一步 (End)"},
	"theatre.speed":              {"Speed", "速度"},
	"theatre.step":               {"Step", "步"},
	"theatre.text":               {"This step as text", "此步的文字"},
	"theatre.alltext":            {"The whole episode as text", "整个回合的文字"},
	"theatre.minds":              {"What they have in mind", "他们的想法"},
	"theatre.whose":              {"Whose mind is shown", "展示谁的想法"},
	"theatre.at":                 {"Step %s of %s", "第 %s 步，共 %s 步"},
	"theatre.over":               {"The episode is over.", "回合结束。"},
	"theatre.more":               {"still being played", "仍在进行"},
	"theatre.broken":             {"The episode ended early: %s", "回合提前中止：%s"},
	"theatre.return":             {"return %s", "回报 %s"},
	"theatre.left":               {"left at step %s", "第 %s 步离开"},
	"theatre.leftwith":           {"left with the %s at step %s", "带着 %s 在第 %s 步离开"},
	"theatre.nothing":            {"Seat %s, %s, is scripted and has nothing in mind that could be shown.", "席位 %s（%s）按脚本行动，没有可展示的想法。"},
	"theatre.gone":               {"Seat %s has left.", "席位 %s 已离开。"},
	"theatre.end":                {"The episode is over, so nobody has a decision to make.", "回合已结束，没有决定要做。"},
	"theatre.yours":              {"Seat %s is yours, and your thoughts are your own.", "席位 %s 是你的，你的想法属于你自己。"},
	"theatre.beliefs":            {"What it takes the others to be after", "它认为别人追求什么"},
	"theatre.beliefs.note":       {"Probabilities at this step; the lines show how they moved.", "此步的概率；折线显示其变化。"},
	"theatre.expects":            {"What it expects them to do now", "它预计他们此刻做什么"},
	"theatre.expects.note":       {"A ring marks what was then done.", "圆圈标出随后实际的动作。"},
	"theatre.search":             {"What its search found", "它的搜索结果"},
	"theatre.network":            {"What its network says", "它的网络的判断"},
	"theatre.value":              {"It expects %s more.", "它预计还能得到 %s。"},
	"theatre.action":             {"action", "动作"},
	"theatre.visits":             {"visits", "访问"},
	"theatre.q":                  {"value", "价值"},
	"theatre.prior":              {"prior", "先验"},
	"theatre.policy":             {"policy", "策略"},
	"theatre.oracle":             {"best response", "最优应对"},
	"theatre.oracle.note":        {"the exact value of each action against these scripts", "对这些脚本而言各动作的精确价值"},
	"theatre.line":               {"The line it expects", "它预计的后续"},
	"theatre.line.show":          {"Draw it on the board", "画在棋盘上"},
	"theatre.imagined":           {"What its world model imagined for the next step", "它的世界模型对下一步的想象"},
	"theatre.imagined.left":      {"imagined", "想象"},
	"theatre.imagined.right":     {"what happened", "实际"},
	"theatre.imagined.right.all": {"Every cell came as it was expected.", "每一格都如预期。"},
	"theatre.imagined.wrong":     {"%s of what it expected was not so:", "有 %s 处与预期不同："},
	"theatre.wrong.was":          {"%s on row %s, column %s, which it gave %s", "%s 出现在第 %s 行第 %s 列，它只给了 %s"},
	"theatre.wrong.not":          {"no %s on row %s, column %s, which it gave %s", "没有 %s：第 %s 行第 %s 列，它却给了 %s"},
	"theatre.imagined.pay":       {"Rewards: imagined %s, paid %s", "奖励：想象 %s，实得 %s"},
	"theatre.imagined.last":      {"There is no step after this one.", "此后没有下一步。"},
	"theatre.regret":             {"Regret", "后悔值"},
	"theatre.regret.note":        {"by how much each step was worse than the best response to these co-players", "每一步比对这些同伴的最优应对差多少"},
	"theatre.regret.sum":         {"%s so far, %s in all", "至此 %s，总计 %s"},
	"theatre.regret.unknown":     {"Regret is not known: %s", "后悔值未知：%s"},
	"theatre.regret.soon":        {"Regret is being computed…", "正在计算后悔值…"},
	"theatre.regret.at":          {"step %s: lost %s; best was %s", "第 %s 步：损失 %s；最佳是 %s"},
	"theatre.sum.you":            {"Seat %s, %s, took you to be after %s in %s of %s steps", "席位 %s（%s）认为你追求 %s：%s 步，共 %s 步"},
	"theatre.sum.end":            {"its last word: %s.", "最后的判断：%s。"},
	"theatre.sum.for":            {"Seat %s, %s, took you for %s in %s of %s steps", "席位 %s（%s）把你当作 %s：%s 步，共 %s 步"},
	"theatre.sum.right":          {"It foresaw %s of your %s moves.", "它预见了 %s 步，你共走 %s 步。"},
	"theatre.sum.reached":        {"You left with the %s.", "你得到了 %s。"},
	"theatre.sum.none":           {"Nobody here models others, so nothing was thought of you.", "这里没有谁会揣测别人，所以没有对你的看法。"},
	"theatre.view":               {"Cells that seat %s does not see are dimmed.", "席位 %s 看不到的格子变暗。"},
	"theatre.key.mind":           {"whose mind", "看谁的想法"},
	"theatre.key.speed":          {"faster, slower", "加速、减速"},

	// Join.
	"join.you":     {"you", "你"},
	"join.seat":    {"Your seat", "你的席位"},
	"join.take":    {"Take the seat", "入座"},
	"join.intro":   {"Take a seat among bots, planners or trained agents. All choose at once: they do not see what you are about to do. Afterwards you see what each of them thought you wanted.", "坐到脚本、规划者或训练过的智能体之间。所有人同时选择：他们看不到你将做什么。之后你会看到他们各自认为你想要什么。"},
	"join.actions": {"Your actions", "你的动作"},
	"join.result":  {"Result", "结果"},
	"join.leave":   {"Give the seat up", "离开席位"},
	"join.turn":    {"Your turn, seat %s. Step %s of at most %s.", "轮到你了，席位 %s。第 %s 步，至多 %s 步。"},
	"join.wait":    {"The others are choosing…", "其他人正在选择…"},
	"join.left":    {"You have left; the others play on.", "你已离开；其他人继续。"},
	"join.over":    {"The episode is over. You got %s.", "回合结束。你得到 %s。"},
	"join.open":    {"See what they had in mind, step by step", "逐步查看他们的想法"},
	"join.again":   {"Play again", "再来一次"},
	"join.next":    {"Next episode", "下一回合"},
	"join.illegal": {"%s is not possible now", "现在不能 %s"},
	"join.reading": {"What they thought of you is being put together…", "正在整理他们对你的看法…"},
	"join.seating": {"Getting the others ready…", "正在安排其他人…"},

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
