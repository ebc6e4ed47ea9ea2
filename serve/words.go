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
	"curves.choice":        {"What is shown", "显示内容"},
	"curves.how":           {"How it is shown", "显示方式"},
	"curves.runs":          {"Runs", "运行"},
	"curves.add":           {"Add a run", "添加运行"},
	"curves.add.hint":      {"type a part of its name", "输入名称的一部分"},
	"curves.remove":        {"take %s out", "移除 %s"},
	"curves.metrics":       {"Metrics", "指标"},
	"curves.filter":        {"Filter metrics", "筛选指标"},
	"curves.by":            {"Lines", "线条"},
	"curves.by.mean":       {"mean over seeds, with its 95 % band", "种子间均值及 95 % 区间带"},
	"curves.by.seed":       {"by seed", "按种子"},
	"curves.by.agent":      {"by agent", "按智能体"},
	"curves.by.all":        {"every seed and agent", "每个种子与智能体"},
	"curves.agent":         {"agent %d", "智能体 %d"},
	"curves.agent.one":     {"Agents", "智能体"},
	"curves.agent.all":     {"all", "全部"},
	"curves.smooth":        {"Smoothing", "平滑"},
	"curves.smooth.no":     {"off", "关"},
	"curves.logx":          {"log steps", "对数步数轴"},
	"curves.logy":          {"log values", "对数数值轴"},
	"curves.norefs":        {"no references", "不显示参考线"},
	"curves.reset":         {"Whole range", "全部范围"},
	"curves.export":        {"Save as", "另存为"},
	"curves.show":          {"Show", "显示"},
	"curves.none":          {"No run is chosen. Choose some on the page of runs, or add one on the left.", "尚未选择运行。请在运行页选择，或在左侧添加。"},
	"curves.nometric":      {"Choose a metric on the left.", "请在左侧选择指标。"},
	"curves.norows":        {"These runs have no rows of it yet.", "这些运行还没有该指标的数据。"},
	"curves.line":          {"Line", "线条"},
	"curves.last":          {"Last", "最后"},
	"curves.lowest":        {"Lowest", "最低"},
	"curves.highest":       {"Highest", "最高"},
	"curves.rows":          {"Rows", "行数"},
	"curves.steps":         {"env steps", "环境步"},
	"curves.bots":          {"bots in the warm-up", "预热中的脚本玩家"},
	"curves.warm":          {"warm-up: bots play, agents watch", "预热：脚本玩家行动，智能体观察"},
	"curves.table":         {"As a table", "以表格显示"},
	"curves.moving":        {"still being written: these numbers move", "仍在写入：这些数字还会变化"},
	"curves.reading":       {"%s of the rows are read so far", "目前已读取 %s 的数据行"},
	"curves.smoothed":      {"smoothed: exponential mean, weight %s for each row before; the faint line is not smoothed", "平滑：指数均值，之前每行的权重为 %s；浅色线为未平滑的值"},
	"curves.by.blocks":     {"the smoothing goes in steps of %d rows", "平滑以每 %d 行为一步"},
	"curves.kind.rows":     {"every row", "每一行"},
	"curves.kind.extremes": {"more rows than points: the line goes through the lowest and the highest row of every stretch", "行数多于点数：线条经过每段中最低与最高的行"},
	"curves.kind.mean":     {"means over stretches of steps; band: Student's 95 % interval over seeds", "各段步数内的均值；区间带：种子间的 Student 95 % 区间"},
	"curves.nans":          {"%d values are no finite numbers and are not drawn", "%d 个值不是有限数，未绘制"},
	"curves.neg":           {"values of 0 or less have no place on a logarithmic axis", "0 或更小的值无法显示在对数轴上"},
	"curves.hover":         {"n = %s in %s rows", "n = %s，共 %s 行"},
	"curves.hover.row":     {"n = %s", "n = %s"},
	"curves.hover.runs":    {"mean of %s seeds, 95 %% %s; n = %s", "%s 个种子的均值，95 %% %s；n = %s"},
	"curves.unsealed":      {"its file is not held against its seal yet", "其文件尚未与封印核对"},
	"curves.plot":          {"Plot of %s over env steps; the table below has its numbers.", "%s 随环境步变化的图；下方表格列出其数值。"},
	"keys.zoom":            {"zoom in, zoom out", "放大，缩小"},
	"keys.pan":             {"move along the steps", "沿步数移动"},
	"keys.whole":           {"whole range (or double click)", "全部范围（或双击）"},
	"keys.metric":          {"filter metrics", "筛选指标"},
	"keys.lines":           {"next kind of lines", "下一种线条"},

	// Compare.
	"compare.none":    {"Choose two or more runs to compare, on the page of runs or here.", "请选择两个或更多运行进行比较，可在运行页或此处选择。"},
	"compare.scored":  {"None of the chosen runs is scored yet: a comparison is of final agents, on fresh episodes.", "所选运行均尚未评分：比较的是最终智能体在新回合中的表现。"},
	"compare.left":    {"%s: %d of %d seeds are scored and compared; %s", "%s：%d / %d 个种子已评分并参与比较；%s"},
	"compare.moving":  {"the numbers will move", "这些数字还会变化"},
	"compare.ended":   {"the others are not scored", "其余种子未评分"},
	"compare.changed": {"The runs have changed since this page was made.", "本页生成后运行已有变化。"},
	"compare.reload":  {"Compare anew", "重新比较"},
	"compare.how":     {"Each seed's final agents play fresh episodes of the true game, actions drawn from their policies; a seed counts once. Differences are to %s.", "每个种子的最终智能体在真实游戏的新回合中行动，动作按其策略抽取；每个种子计一次。差异以 %s 为参照。"},
	"compare.variant": {"Training", "训练"},
	"compare.seeds":   {"Seeds", "种子"},
	"compare.mean":    {"Mean", "均值"},
	"compare.ci":      {"95 %, Student", "95 %（Student）"},
	"compare.iqm":     {"IQM", "IQM"},
	"compare.iqmci":   {"95 %, bootstrap", "95 %（自助法）"},
	"compare.diff":    {"Difference", "差异"},
	"compare.diffci":  {"95 %, Welch", "95 %（Welch）"},
	"compare.verdict": {"Verdict", "结论"},
	"compare.about":   {"Mean: Student's interval over seeds. IQM: mean of the middle half of the seeds; with few seeds its bootstrap interval is too narrow (about 83 % instead of 95 % with five). The verdict is Welch's interval, each row by itself: of twenty rows without a difference, one is called better or worse by chance.", "均值：种子间的 Student 区间。IQM：中间一半种子的均值；种子少时其自助法区间过窄（五个种子时约为 83 % 而非 95 %）。结论依据 Welch 区间，逐行判断：二十行无差异的比较中，约有一行会偶然被判为更好或更差。"},
	"compare.every":   {"Every seed", "每个种子"},
	"compare.fast":    {"How fast: to a return of %s", "多快：达到回报 %s"},
	"compare.reached": {"Seeds that got there", "达到的种子"},
	"compare.steps":   {"Env steps, median", "环境步（中位数）"},
	"compare.cpu":     {"Processor time, median", "处理器时间（中位数）"},
	"compare.whole":   {"Whole run", "整个运行"},
	"compare.of":      {"%d of %d", "%d / %d"},
	"compare.wins":    {"Probability of improvement", "改进概率"},
	"compare.specs":   {"Difference of their specs", "配置的差异"},
	"compare.field":   {"Field", "字段"},
	"compare.same":    {"They differ in no field.", "它们没有不同的字段。"},
	"compare.curves":  {"Their curves", "它们的曲线"},
	"compare.show":    {"Compare", "比较"},

	// Theatre.
	"theatre.soon": {"This program cannot show episodes here yet; hop play can.", "此程序尚不能在这里展示回合；可用 hop play。"},

	// Join.
	"join.soon": {"This program has no seats for people here yet; hop play has.", "此程序尚不能在这里加入；可用 hop play。"},

	// Diagnose.
	"diagnose.of":            {"Training", "训练"},
	"diagnose.all":           {"all", "全部"},
	"diagnose.show":          {"Show", "显示"},
	"diagnose.findings":      {"Findings", "发现"},
	"diagnose.findings.what": {"What the guards of trainings notice, as it happens. Each is said once by the run that noticed it.", "训练中的守卫随时报告的问题。每个问题由发现它的运行报告一次。"},
	"diagnose.at":            {"seed %d, env step %d", "种子 %d，环境步 %d"},
	"diagnose.none":          {"Nothing was found so far.", "目前没有发现问题。"},
	"diagnose.ask":           {"Which module is at fault?", "是哪个模块出了错？"},
	"diagnose.ask.what": {"An audit examines a run closely and names the module at fault. A ladder replaces one module after the other by the truth and shows what each one's imperfection costs.",
		"审计会细查一次运行，并指出出错的模块。阶梯把模块逐个换成真值，显示各自的不足代价多大。"},
	"diagnose.audit":   {"Start an audit", "开始审计"},
	"diagnose.ladder":  {"Start a ladder", "开始阶梯"},
	"diagnose.choose":  {"Choose a training above to audit it.", "请先在上方选择一个训练。"},
	"diagnose.pages":   {"Reports and audits", "报告与审计"},
	"diagnose.report":  {"this training's report", "本训练的报告"},
	"diagnose.nopages": {"No audit or ladder lies in the folders yet.", "文件夹中还没有审计或阶梯的结果。"},
	"diagnose.alone":   {"open alone", "单独打开"},

	// Jobs: what was started from a page.
	"job.running":     {"running", "运行中"},
	"job.stopping":    {"stopping", "正在停止"},
	"job.done":        {"done", "完成"},
	"job.stopped":     {"stopped", "已停止"},
	"job.failed":      {"failed", "失败"},
	"job.kind.train":  {"training", "训练"},
	"job.kind.resume": {"training, gone on with", "继续训练"},
	"job.kind.audit":  {"audit", "审计"},
	"job.kind.ladder": {"ladder", "阶梯"},
	"job.pid":         {"process %s", "进程 %s"},
	"job.stop":        {"Stop", "停止"},
	"job.stop.what":   {"as Ctrl-C: it saves and stops", "等同 Ctrl-C：保存并停止"},
	"job.stop.now":    {"End at once", "立即结束"},
	"job.stop.again":  {"It is saving. A second time ends it at once, and what is not saved is lost.", "正在保存。再按一次将立即结束，未保存的内容会丢失。"},
	"job.resume":      {"Go on", "继续"},
	"job.output":      {"Output", "输出"},
	"job.page":        {"Show its page", "查看页面"},
	"job.none":        {"Nothing was started from here yet.", "这里还没有启动过任何任务。"},
	"job.off":         {"Nothing can be started here: hop serve was started without --control.", "这里不能启动任务：hop serve 启动时没有 --control。"},
	"job.token":       {"To start something, open the address with the token that hop serve printed.", "要启动任务，请打开 hop serve 打印的带令牌的地址。"},
	"job.type":        {"In a terminal:", "在终端中："},

	// Start.
	"start.new":        {"A new training", "新的训练"},
	"start.preset":     {"Preset", "预设"},
	"start.seeds":      {"Seeds", "种子"},
	"start.seeds.what": {"Seeds such as 1-5 or 1,4,9; one run for each.", "种子如 1-5 或 1,4,9；每个种子一次运行。"},
	"start.folder":     {"Folder", "文件夹"},
	"start.go":         {"Start", "启动"},
	"start.started":    {"Started. It goes on when this page is closed.", "已启动。关闭此页后仍会继续。"},
	"start.copy":       {"Copy the command", "复制命令"},
	"start.copied":     {"Copied.", "已复制。"},
	"start.drop":       {"as in the preset again", "恢复为预设的值"},
	"start.fields":     {"Fields", "字段"},
	"start.find":       {"Find a field", "查找字段"},
	"start.only":       {"only what was changed", "只看已修改的"},
	"start.general":    {"general", "一般"},
	"start.changed":    {"%d changed", "修改了 %d 项"},
	"start.was":        {"the preset has %s", "预设为 %s"},
	"start.jobs":       {"Started from here", "由此启动"},
	"start.jobs.what":  {"Each is a process of its own, which goes on when the page or the server is closed.", "每个任务是独立的进程，关闭页面或服务器后仍会继续。"},
	"start.goon":       {"Can go on", "可以继续"},
	"start.nogoon":     {"No training was stopped, killed or has failed.", "没有被停止、被杀死或失败的训练。"},
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
