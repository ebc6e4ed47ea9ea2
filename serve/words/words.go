// Package words holds all words of the server's pages, in English and Chinese.
package words

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Table is all words of the pages by key, in English and Chinese. Scripts get theirs from
// /api/words. What a program wrote (names, findings, refusals of package runlog) stays as
// it was written.
var Table = map[string][2]string{
	// The frame of all pages.
	"page.runs":     {"Runs", "运行"},
	"page.sweeps":   {"Sweeps", "扫描"},
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

	// Sweeps.
	"sweeps.none":      {"There is no sweep below %s. It shows up here as soon as one begins:", "%s 中没有扫描。一旦开始就会出现在这里："},
	"sweeps.caption":   {"Sweeps, with state, progress and what they have cost", "扫描列表：状态、进度与花费"},
	"sweeps.sweep":     {"Sweep", "扫描"},
	"sweeps.of":        {"of %s", "基于 %s"},
	"sweeps.all":       {"All sweeps", "所有扫描"},
	"sweeps.report":    {"Report", "报告"},
	"sweeps.runs":      {"Its runs", "其运行"},
	"sweeps.cpu":       {"Processor time", "处理器时间"},
	"sweeps.clock":     {"Clock", "用时"},
	"sweeps.left":      {"about %s left", "约剩 %s"},
	"sweeps.left.more": {"more than %s left", "至少还剩 %s"},
	"sweeps.written":   {"Written", "写于"},
	"sweeps.progress":  {"Progress", "进度"},
	"sweeps.count":     {"%d of %d jobs have ended", "%d / %d 个任务已结束"},
	"sweeps.jobs":      {"Jobs", "任务"},
	"sweeps.job":       {"Job", "任务"},
	"sweeps.phase":     {"State", "状态"},
	"sweeps.tries":     {"Tries", "次数"},
	"sweeps.worker":    {"Worker", "工作机"},
	"sweeps.workers":   {"Workers", "工作机"},
	"sweeps.now":       {"At work on", "正在做"},
	"sweeps.says":      {"Says", "消息"},
	"sweeps.idle":      {"nothing now", "现在空闲"},
	"sweeps.refused":   {"takes no jobs: %s", "不接任务：%s"},
	"sweeps.turned":    {"Connections that were turned away: %s", "被拒绝的连接：%s"},
	"sweeps.found":     {"Given up", "已放弃"},
	"sweeps.found.what": {
		"Tried until there were no tries left. hop sweep retry tries them again.",
		"已用完尝试次数。可用 hop sweep retry 再试。",
	},
	"sweeps.log":             {"the end of what it said", "它最后的输出"},
	"sweeps.every":           {"all", "全部"},
	"sweeps.search":          {"Search jobs and workers", "搜索任务与工作机"},
	"sweeps.match":           {"No job matches.", "没有匹配的任务。"},
	"sweeps.more":            {"The first %d of %d are shown; search, or choose a state, to see others.", "显示前 %d 个，共 %d 个；可搜索或选择状态查看其他。"},
	"sweeps.state.running":   {"running", "运行中"},
	"sweeps.state.done":      {"done", "完成"},
	"sweeps.state.failed":    {"done, some given up", "完成，部分放弃"},
	"sweeps.state.stopped":   {"stopped", "已停止"},
	"sweeps.state.cancelled": {"cancelled", "已取消"},
	"sweeps.state.damaged":   {"damaged", "已损坏"},
	"sweeps.state.waiting":   {"not begun", "未开始"},
	"sweeps.hint.stopped":    {"no process is at work on it; hop sweep resume goes on with it", "没有进程在做；可用 hop sweep resume 继续"},
	"sweeps.hint.waiting":    {"it has not said yet how it stands", "它还没有说明进展"},
	"sweeps.phase.waiting":   {"waiting", "等待中"},
	"sweeps.phase.queued":    {"queued", "排队中"},
	"sweeps.phase.running":   {"at work", "进行中"},
	"sweeps.phase.done":      {"done", "完成"},
	"sweeps.phase.failed":    {"given up", "已放弃"},
	"sweeps.phase.cancelled": {"cancelled", "已取消"},
	"keys.row.down":          {"next row", "下一行"},
	"keys.row.up":            {"row before", "上一行"},
	"keys.row.open":          {"open it", "打开"},
	"keys.back":              {"all sweeps", "所有扫描"},

	// Runs.
	"state.running": {"running", "运行中"},
	"state.done":    {"done", "完成"},
	"state.stopped": {"stopped", "已停止"},
	"state.failed":  {"failed", "失败"},
	"state.killed":  {"killed", "被终止"},
	"state.damaged": {"damaged", "已损坏"},
	"state.waiting": {"not begun", "未开始"},
	"state.silent":  {"silent for %s", "已 %s 无响应"},
	"hint.running":  {"a process holds its lock (%s)", "有进程持有其锁（%s）"},
	"hint.killed": {
		"it says that it runs, but no process holds its lock; hop train --resume goes on with it",
		"它自称在运行，但没有进程持有其锁；可用 hop train --resume 继续",
	},
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
	"curves.choice":    {"What is shown", "显示内容"},
	"curves.how":       {"How it is shown", "显示方式"},
	"curves.runs":      {"Runs", "运行"},
	"curves.add":       {"Add a run", "添加运行"},
	"curves.add.hint":  {"type a part of its name", "输入名称的一部分"},
	"curves.remove":    {"take %s out", "移除 %s"},
	"curves.metrics":   {"Metrics", "指标"},
	"curves.filter":    {"Filter metrics", "筛选指标"},
	"curves.by":        {"Lines", "线条"},
	"curves.by.mean":   {"mean over seeds, with its 95 % band", "种子间均值及 95 % 区间带"},
	"curves.by.seed":   {"by seed", "按种子"},
	"curves.by.agent":  {"by agent", "按智能体"},
	"curves.by.all":    {"every seed and agent", "每个种子与智能体"},
	"curves.agent":     {"agent %d", "智能体 %d"},
	"curves.agent.one": {"Agents", "智能体"},
	"curves.agent.all": {"all", "全部"},
	"curves.smooth":    {"Smoothing", "平滑"},
	"curves.smooth.no": {"off", "关"},
	"curves.logx":      {"log steps", "对数步数轴"},
	"curves.logy":      {"log values", "对数数值轴"},
	"curves.norefs":    {"no references", "不显示参考线"},
	"curves.reset":     {"Whole range", "全部范围"},
	"curves.export":    {"Save as", "另存为"},
	"curves.show":      {"Show", "显示"},
	"curves.none":      {"No run is chosen. Choose some on the page of runs, or add one on the left.", "尚未选择运行。请在运行页选择，或在左侧添加。"},
	"curves.nometric":  {"Choose a metric on the left.", "请在左侧选择指标。"},
	"curves.norows":    {"These runs have no rows of it yet.", "这些运行还没有该指标的数据。"},
	"curves.line":      {"Line", "线条"},
	"curves.last":      {"Last", "最后"},
	"curves.lowest":    {"Lowest", "最低"},
	"curves.highest":   {"Highest", "最高"},
	"curves.rows":      {"Rows", "行数"},
	"curves.steps":     {"env steps", "环境步"},
	"curves.bots":      {"bots in the warm-up", "预热中的脚本玩家"},
	"curves.warm":      {"warm-up: bots play, agents watch", "预热：脚本玩家行动，智能体观察"},
	"curves.table":     {"As a table", "以表格显示"},
	"curves.moving":    {"still being written: these numbers move", "仍在写入：这些数字还会变化"},
	"curves.reading":   {"%s of the rows are read so far", "目前已读取 %s 的数据行"},
	"curves.smoothed": {
		"smoothed: exponential mean, weight %s for each row before; the faint line is not smoothed",
		"平滑：指数均值，之前每行的权重为 %s；浅色线为未平滑的值",
	},
	"curves.by.blocks": {"the smoothing goes in steps of %d rows", "平滑以每 %d 行为一步"},
	"curves.kind.rows": {"every row", "每一行"},
	"curves.kind.extremes": {
		"more rows than points: the line goes through the lowest and the highest row of every stretch",
		"行数多于点数：线条经过每段中最低与最高的行",
	},
	"curves.kind.mean":  {"means over stretches of steps; band: Student's 95 % interval over seeds", "各段步数内的均值；区间带：种子间的 Student 95 % 区间"},
	"curves.nans":       {"%d values are no finite numbers and are not drawn", "%d 个值不是有限数，未绘制"},
	"curves.neg":        {"values of 0 or less have no place on a logarithmic axis", "0 或更小的值无法显示在对数轴上"},
	"curves.hover":      {"n = %s in %s rows", "n = %s，共 %s 行"},
	"curves.hover.row":  {"n = %s", "n = %s"},
	"curves.hover.runs": {"mean of %s seeds, 95 %% %s; n = %s", "%s 个种子的均值，95 %% %s；n = %s"},
	"curves.unsealed":   {"its file is not held against its seal yet", "其文件尚未与封印核对"},
	"curves.plot":       {"Plot of %s over env steps; the table below has its numbers.", "%s 随环境步变化的图；下方表格列出其数值。"},
	"keys.zoom":         {"zoom in, zoom out", "放大，缩小"},
	"keys.pan":          {"move along the steps", "沿步数移动"},
	"keys.whole":        {"whole range (or double click)", "全部范围（或双击）"},
	"keys.metric":       {"filter metrics", "筛选指标"},
	"keys.lines":        {"next kind of lines", "下一种线条"},

	// Compare.
	"compare.none": {"Choose two or more runs to compare, on the page of runs or here.", "请选择两个或更多运行进行比较，可在运行页或此处选择。"},
	"compare.scored": {
		"None of the chosen runs is scored yet: a comparison is of final agents, on fresh episodes.",
		"所选运行均尚未评分：比较的是最终智能体在新回合中的表现。",
	},
	"compare.left":    {"%s: %d of %d seeds are scored and compared; %s", "%s：%d / %d 个种子已评分并参与比较；%s"},
	"compare.moving":  {"the numbers will move", "这些数字还会变化"},
	"compare.ended":   {"the others are not scored", "其余种子未评分"},
	"compare.changed": {"The runs have changed since this page was made.", "本页生成后运行已有变化。"},
	"compare.reload":  {"Compare anew", "重新比较"},
	"compare.how": {
		"Each seed's final agents play fresh episodes of the true game, actions drawn from their policies; a seed counts once. " +
			"Differences are to %s.",
		"每个种子的最终智能体在真实游戏的新回合中行动，动作按其策略抽取；每个种子计一次。差异以 %s 为参照。",
	},
	"compare.variant": {"Training", "训练"},
	"compare.seeds":   {"Seeds", "种子"},
	"compare.mean":    {"Mean", "均值"},
	"compare.ci":      {"95 %, Student", "95 %（Student）"},
	"compare.iqm":     {"IQM", "IQM"},
	"compare.iqmci":   {"95 %, bootstrap", "95 %（自助法）"},
	"compare.diff":    {"Difference", "差异"},
	"compare.diffci":  {"95 %, Welch", "95 %（Welch）"},
	"compare.verdict": {"Verdict", "结论"},
	"compare.about": {
		"Mean: Student's interval over seeds. IQM: mean of the middle half of the seeds; with few seeds its bootstrap interval " +
			"is too narrow (about 83 % instead of 95 % with five). The verdict is Welch's interval, each row by itself: of twenty " +
			"rows without a difference, one is called better or worse by chance.",
		"均值：种子间的 Student 区间。IQM：中间一半种子的均值；种子少时其自助法区间过窄（五个种子时约为 83 % 而非 95 %）。结论依据 Welch 区间，逐行判断：二十行无差异的比较中，约有一行会偶然被判为更好或更差。",
	},
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
	"theatre.run":            {"Run", "运行"},
	"theatre.runs":           {"Runs", "运行"},
	"theatre.games":          {"Games, without a run", "游戏（不用运行）"},
	"theatre.checkpoint":     {"Checkpoint", "检查点"},
	"theatre.newest":         {"the newest", "最新"},
	"theatre.seat":           {"Seat %d", "席位 %d"},
	"theatre.seed":           {"Seed", "种子"},
	"theatre.asking":         {"Who plays what", "谁在玩什么"},
	"theatre.show":           {"Show", "展示"},
	"theatre.group.run":      {"This run", "本次运行"},
	"theatre.group.bots":     {"Bots", "脚本"},
	"theatre.group.planners": {"Planners", "规划者"},
	"theatre.group.runs":     {"Agents of other runs", "其他运行的智能体"},
	"theatre.group.asked":    {"As asked for", "按请求"},
	"theatre.age":            {"agent %d at step %d", "第 %d 号，第 %d 步时"},
	"theatre.intro": {
		"Choose a checkpoint, who sits on each seat and a seed. The episode is played on the server as hop play does, with " +
			"what every agent has in mind at every step.",
		"选择检查点、各席位由谁坐，以及种子。回合在服务器上按 hop play 的方式进行，并展示每一步每个智能体的想法。",
	},
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
	"join.you":  {"you", "你"},
	"join.seat": {"Your seat", "你的席位"},
	"join.take": {"Take the seat", "入座"},
	"join.intro": {
		"Take a seat among bots, planners or trained agents. All choose at once: they do not see what you are about to do. " +
			"Afterwards you see what each of them thought you wanted.",
		"坐到脚本、规划者或训练过的智能体之间。所有人同时选择：他们看不到你将做什么。之后你会看到他们各自认为你想要什么。",
	},
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
	"diagnose.of":       {"Training", "训练"},
	"diagnose.all":      {"all", "全部"},
	"diagnose.show":     {"Show", "显示"},
	"diagnose.findings": {"Findings", "发现"},
	"diagnose.findings.what": {"What the guards of trainings notice, as it happens. Each is said once by the run that noticed it.",
		"训练中的守卫随时报告的问题。每个问题由发现它的运行报告一次。"},
	"diagnose.at":   {"seed %d, env step %d", "种子 %d，环境步 %d"},
	"diagnose.none": {"Nothing was found so far.", "目前没有发现问题。"},
	"diagnose.ask":  {"Which module is at fault?", "是哪个模块出了错？"},
	"diagnose.ask.what": {"An audit examines a run closely and names the module at fault. " +
		"A ladder replaces one module after the other by the truth and shows what each one's imperfection costs.",
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
	"job.stop.again": {"It is saving. A second time ends it at once, and what is not saved is lost.",
		"正在保存。再按一次将立即结束，未保存的内容会丢失。"},
	"job.resume": {"Go on", "继续"},
	"job.output": {"Output", "输出"},
	"job.page":   {"Show its page", "查看页面"},
	"job.none":   {"Nothing was started from here yet.", "这里还没有启动过任何任务。"},
	"job.off": {"Nothing can be started here: hop serve was started without --control.",
		"这里不能启动任务：hop serve 启动时没有 --control。"},
	"job.token": {"To start something, open the address with the token that hop serve printed.",
		"要启动任务，请打开 hop serve 打印的带令牌的地址。"},
	"job.type": {"In a terminal:", "在终端中："},

	// Start.
	"start.new":        {"A new training", "新的训练"},
	"start.preset":     {"Preset", "预设"},
	"start.seeds":      {"Seeds", "种子"},
	"start.seeds.what": {"Seeds such as 1-5 or 1,4,9; one run for each.", "种子如 1-5 或 1,4,9；每个种子一次运行。"},
	"start.folder":     {"Folder", "文件夹"},
	"start.go":         {"Start", "启动"},
	"start.started": {"Started. It goes on when this page is closed.",
		"已启动。关闭此页后仍会继续。"},
	"start.copy":    {"Copy the command", "复制命令"},
	"start.copied":  {"Copied.", "已复制。"},
	"start.drop":    {"as in the preset again", "恢复为预设的值"},
	"start.fields":  {"Fields", "字段"},
	"start.find":    {"Find a field", "查找字段"},
	"start.only":    {"only what was changed", "只看已修改的"},
	"start.general": {"general", "一般"},
	"start.changed": {"%d changed", "修改了 %d 项"},
	"start.was":     {"the preset has %s", "预设为 %s"},
	"start.jobs":    {"Started from here", "由此启动"},
	"start.jobs.what": {"Each is a process of its own, which goes on when the page or the server is closed.",
		"每个任务是独立的进程，关闭页面或服务器后仍会继续。"},
	"start.goon":   {"Can go on", "可以继续"},
	"start.nogoon": {"No training was stopped, killed or has failed.", "没有被停止、被杀死或失败的训练。"},
}

// Say returns a word in a language. A key that there is not is shown as it is: a test
// finds it.
func Say(lang, key string, args ...any) string {
	w, ok := Table[key]
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

// Language is what the address says, or the cookie from when it last did, or what the
// browser prefers.
func Language(w http.ResponseWriter, r *http.Request) string {
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

// All returns all words of a language, and under "lang" which one it is.
func All(lang string) map[string]string {
	all := map[string]string{"lang": lang}
	for key := range Table {
		all[key] = Say(lang, key)
	}
	return all
}
