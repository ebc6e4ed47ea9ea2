// The page of curves: any metrics of any runs overlaid, live while they grow. What is
// shown stands in the form and in the address; the server thins and averages.
import uPlot from './uplot.js';
import { $, $$, address, apart, ask, colour, follow, keys, later, loaded, make, number, say, seconds, short, themed } from './kit.js';

await loaded();

const form = $('#view'), box = $('#panels');
const dashes = [[], [7, 4], [2, 3], [9, 3, 2, 3], [4, 4]];
const q = address.read();
const view = { runs: q.getAll('run'), metrics: q.getAll('m'), from: q.get('from'), to: q.get('to'), found: q.get('find') === '1' };
// What finds runs in place of their names, as the page of runs says it.
const search = ['find', 'q', 'state', 'tag', 'kind', 'archived', 'not'].flatMap((k) => (view.found ? q.getAll(k).map((v) => [k, v]) : []));
const selects = ['by', 'agent', 'group', 'centre', 'band', 'x'];
let names = { metrics: [], agents: 0, fields: [] }, data = null, plots = new Map(), stop = null, asking = false, again = false, timer = 0, width = 0;

for (const id of ['by', 'centre', 'band', 'x']) if (q.has(id)) $('#' + id).value = q.get(id);
if (q.get('group')) $('#group').append(make('option', { value: q.get('group'), selected: true }, q.get('group')));
$('#w').value = q.get('w') ?? 0;
for (const name of ['logx', 'logy', 'norefs']) $('#' + name).checked = q.get(name) === '1';
if (q.get('agent')) $('#agent').append(make('option', { value: q.get('agent'), selected: true }, say('curves.agent', q.get('agent'))));

const look = () => ({
  run: view.runs, m: view.metrics, by: $('#by').value === 'mean' ? '' : $('#by').value, agent: $('#agent').value,
  group: $('#group').value, centre: $('#centre').value, band: $('#band').value, x: $('#x').value,
  w: Number($('#w').value) || '', logx: $('#logx').checked, logy: $('#logy').checked, norefs: $('#norefs').checked, from: view.from, to: view.to,
});

/** query is what the server is asked for, with as many points as there is room for. */
function query(px) {
  const p = new URLSearchParams();
  for (const [k, v] of Object.entries(look())) {
    if (Array.isArray(v)) v.forEach((x) => p.append(k, x));
    else if (v && k !== 'norefs') p.set(k, v === true ? '1' : v);
  }
  for (const [k, v] of search) p.append(k, v);
  p.set('px', px ?? points());
  const lang = address.read().get('lang');
  if (lang) p.set('lang', lang);
  return p.toString();
}

function points() {
  const lines = Math.max(1, Math.max(0, ...(data?.panels ?? []).map((p) => p.lines.length)));
  const room = Math.round((box.clientWidth || 800) / (view.metrics.length > 1 && box.clientWidth > 900 ? 2 : 1));
  return Math.max(120, Math.min(1600, room * 2, Math.round(24000 / lines)));
}

/** meant is what names the runs for the server. */
const meant = () => new URLSearchParams([...search, ...view.runs.map((r) => ['run', r])]);
const some = () => view.found || view.runs.length > 0;

/** changed: what is shown is another; the address follows. */
function changed({ reopen = false, fresh = true } = {}) {
  address.write(look());
  if (reopen) listen();
  if (fresh) refresh();
  tools();
}

async function refresh() {
  if (asking) { again = true; return; }
  if (!some() || !view.metrics.length) { data = null; draw(); return; }
  asking = true;
  clearTimeout(timer);
  try {
    data = await ask('/api/curves?' + query());
    draw();
  } catch { /* shown in the page */ }
  asking = false;
  if (again) { again = false; timer = setTimeout(refresh, 700); }
}

async function readNames() {
  if (!some()) { names = { metrics: [], agents: 0, fields: [] }; chooser(); return; }
  try { names = await ask('/api/curves/names?' + meant()); } catch { return; }
  if (!view.metrics.length && names.metrics.length) {
    view.metrics = usual(names.metrics.map((m) => m.name));
    address.write(look());
    refresh();
  }
  chooser();
}

/** usual is what is shown unless something else is chosen: pinned panels, else the return, the
    entropy, how well values are known, and the length of an episode; of a model its first metrics. */
function usual(known) {
  const pinned = pins().filter((m) => known.includes(m));
  if (pinned.length) return pinned;
  const first = (...wanted) => wanted.map((w) => known.find((m) => (w instanceof RegExp ? w.test(m) : m === w))).find(Boolean);
  const list = [first('return/mean', 'return'), first('ppo/entropy', /entropy/), first('ppo/explained', /explained|value_loss/), first('episode/steps')].filter(Boolean);
  return list.length > 1 ? list : known.slice(0, 4);
}

const pins = () => { try { return JSON.parse(localStorage.getItem('hop-pins')) ?? []; } catch { return []; } };

function pin(metric) {
  const now = pins();
  try { localStorage.setItem('hop-pins', JSON.stringify(now.includes(metric) ? now.filter((m) => m !== metric) : [...now, metric])); } catch { /* no storage: nothing is kept */ }
}

function listen() {
  stop?.();
  stop = null;
  readNames();
  if (!some()) return;
  let seen = -1;
  stop = follow('/api/curves/stream?' + meant(), { grown: (g) => {
    if (!names.metrics.length) readNames();
    if (seen >= 0) refresh(); else seen = g.rows;
  } });
}

// ---- what is chosen ----

function chooser() {
  const want = $('#filter').value.toLowerCase();
  const groups = new Map();
  for (const m of names.metrics) {
    const head = m.name.includes('/') ? m.name.split('/')[0] : '';
    if (!groups.has(head)) groups.set(head, []);
    groups.get(head).push(m);
  }
  for (const m of view.metrics) if (!names.metrics.some((x) => x.name === m)) groups.set(m, [{ name: m, agents: [], rows: 0 }]);
  const had = document.activeElement?.closest('#metrics') ? document.activeElement.value : null;
  $('#metrics').replaceChildren(...[...groups].map(([head, list]) => make('div', { className: 'metric-group' },
    head && list.length > 1 ? make('b', { className: 'faint' }, head) : null,
    list.filter((m) => m.name.toLowerCase().includes(want)).map((m) => make('label', { title: m.name + ', ' + say('curves.rows') + ' ' + m.rows },
      make('input', { type: 'checkbox', value: m.name, checked: view.metrics.includes(m.name), onchange: (e) => {
        view.metrics = e.target.checked ? [...view.metrics, m.name] : view.metrics.filter((x) => x !== m.name);
        changed();
      } }), ' ', list.length > 1 && head ? m.name.slice(head.length + 1) : m.name)))));
  if (had !== null) $$('#metrics input').find((x) => x.value === had)?.focus();
  const agent = $('#agent'), now = agent.value;
  if (agent.options.length - 1 !== names.agents) {
    agent.replaceChildren(make('option', { value: '' }, say('curves.agent.all')), ...Array.from({ length: names.agents }, (_, a) => make('option', { value: String(a) }, say('curves.agent', a))));
    agent.value = now;
  }
  const group = $('#group'), field = group.value, fields = [...new Set(['', ...names.fields, field])];
  group.replaceChildren(...fields.map((f) => make('option', { value: f }, f || say('runs.group.none'))));
  group.value = field;
}

const title = (run) => run.slice(run.indexOf(':') + 1);

/** groups lists what a search has found, or what trainings are grouped by. */
function groups() {
  const all = view.found ? view.found && data.groups.reduce((n, g) => n + g.runs, 0) : view.runs.length;
  const end = () => { view.found = false; search.length = 0; view.runs = []; address.write({ find: '', q: '', state: [], tag: [], kind: '', archived: '', not: [] }); changed({ reopen: true }); };
  $('#chosen').replaceChildren(make('li', {}, make('span', { className: 'name' }, say('curves.found', all)), ', ', say('curves.seeds', data.all),
    make('button', { type: 'button', className: 'quiet', 'aria-label': say('runs.clear'), onclick: end }, '×')),
  ...data.groups.slice(0, 40).map((g, i) => make('li', {}, swatch(i), g.label, make('small', { className: 'faint' }, ` (${g.runs})`))),
  ...data.runs.filter((r) => r.why).slice(0, 3).map((r) => make('li', {}, make('small', { className: 'why' }, title(r.run) + ': ' + r.why))),
  data.runs.length > 3 ? make('li', {}, make('small', { className: 'why' }, '+ ' + (data.runs.length - 3))) : '');
}

function runs() {
  if (data?.field || view.found && data) { groups(); return; }
  const by = $('#by').value;
  const byRun = new Map(view.runs.map((r) => [r, []]));
  for (const r of data?.runs ?? []) byRun.get(view.runs.find((v) => r.run === v || r.run.startsWith(v + '/')))?.push(r);
  $('#chosen').replaceChildren(...view.runs.map((name, i) => {
    const list = byRun.get(name) ?? [];
    const states = [...new Set(list.map((r) => r.state))];
    return make('li', {}, by === 'mean' || view.runs.length > 1 && by === 'seed' ? swatch(i) : null, make('span', { className: 'name' }, title(name)), ' ',
      states.map((s) => make('span', { className: 'state ' + s }, say('state.' + s))),
      list.some((r) => r.loose) ? make('small', { className: 'why', title: list.find((r) => r.loose).loose }, say('state.loose')) : null,
      list.some((r) => r.runs) ? make('small', { className: 'why', data: { test: 'untrusted' } }, list.find((r) => r.runs).runs) : null,
      list.filter((r) => r.why).map((r) => make('small', { className: 'why' }, (list.length > 1 ? say('runs.seed', r.seed) + ': ' : '') + r.why)),
      make('button', { type: 'button', className: 'quiet', 'aria-label': say('curves.remove', title(name)), onclick: () => { view.runs = view.runs.filter((x) => x !== name); changed({ reopen: true }); } }, '×'));
  }));
}

const swatch = (i) => make('span', { className: 'swatch', style: { background: `var(--a${i % 8})` } });

function tools() {
  const w = Number($('#w').value);
  $('#w-out').textContent = w ? w.toFixed(2) : say('curves.smooth.no');
  $('#reset').hidden = view.from === null && view.to === null;
  for (const a of $$('#export a')) a.href = '/api/curves/export?format=' + a.dataset.format + '&' + query(1200);
  $('#export').hidden = !data?.panels.length;
}

// ---- drawing ----

function draw() {
  runs();
  tools();
  const says = [];
  if (data?.moving) says.push(say('curves.moving'));
  if (data && data.read < 1) says.push(say('curves.reading', Math.floor(100 * data.read) + ' %'));
  if (data?.field && !$('#group').value) says.push(say('curves.many', data.field));
  for (const note of data?.notes ?? []) says.push(note);
  if (data?.weight) says.push(say('curves.smoothed', data.weight));
  $('#says').textContent = says.join(' · ');
  const panels = data?.panels ?? [];
  if (!panels.length) {
    for (const p of plots.values()) p.plot?.destroy();
    plots.clear();
    box.replaceChildren(make('div', { className: 'card empty' }, make('p', {}, say(some() ? 'curves.nometric' : 'curves.none')),
      some() ? null : make('p', {}, make('a', { className: 'main', href: '/' }, say('page.runs')))));
    return;
  }
  const keep = new Map();
  for (const p of panels) {
    const old = plots.get(p.metric);
    keep.set(p.metric, old ?? panelOf(p.metric));
  }
  for (const [m, p] of plots) if (!keep.has(m)) p.plot?.destroy();
  plots = keep;
  const want = [...plots.values()].map((p) => p.el);
  if (want.length !== box.children.length || want.some((el, i) => box.children[i] !== el)) box.replaceChildren(...want);
  box.classList.toggle('single', panels.length === 1);
  for (const p of panels) show(plots.get(p.metric), p);
}

function panelOf(metric) {
  const p = { el: null, plot: null, key: '' };
  const kept = make('button', { type: 'button', className: 'quiet pin', title: say('curves.pin'), 'aria-label': say('curves.pin'), 'aria-pressed': String(pins().includes(metric)), data: { test: 'pin' },
    onclick: () => { pin(metric); kept.setAttribute('aria-pressed', String(pins().includes(metric))); } }, '⚑');
  p.head = make('h3', {}, metric, ' ', kept);
  p.note = make('p', { className: 'note' });
  p.space = make('div', { className: 'plot', tabIndex: 0, role: 'img', 'aria-label': say('curves.plot', metric) });
  p.legend = make('ul', { className: 'legend plain' });
  p.tip = make('div', { className: 'tip', hidden: true });
  p.table = make('div', { className: 'scroll' });
  p.details = make('details', {}, make('summary', {}, say('curves.table')), p.table);
  p.space.append(p.tip);
  p.el = make('section', { className: 'panel', data: { metric, test: 'panel' } }, p.head, p.note, p.space, p.legend, p.details);
  p.hidden = new Set();
  new ResizeObserver(later(60, () => { if (p.plot && p.space.clientWidth && p.plot.width !== p.space.clientWidth) p.plot.setSize({ width: p.space.clientWidth, height: high(p) }); })).observe(p.space);
  return p;
}

const high = (p) => Math.max(220, Math.min(box.classList.contains('single') ? 460 : 320, Math.round(p.space.clientWidth * 0.55)));

function show(p, d) {
  p.data = d;
  const lines = d.lines.filter((l) => l.step.length);
  const notes = [...new Set(lines.map((l) => (l.kind === 'mean' ? say('curves.band.note', say('curves.centre.' + (data.iqm ? 'iqm' : 'mean')), say('curves.band.' + data.band)) : say('curves.kind.' + l.kind))))];
  const nans = lines.reduce((n, l) => n + l.nans, 0);
  if (nans) notes.push(say('curves.nans', nans));
  const by = Math.max(0, ...lines.map((l) => l.by ?? 0));
  if (by > 1) notes.push(say('curves.by.blocks', by));
  const logy = $('#logy').checked;
  if (logy && lines.some((l) => l.value.some((v) => v !== null && v <= 0))) notes.push(say('curves.neg'));
  if (d.refs.length && !$('#norefs').checked) notes.push(d.refs.map((r) => `${r.Name} ${number(r.Value)}`).join(', '));
  p.note.textContent = lines.length ? notes.join(' · ') : say($('#x').value ? 'curves.x.none' : 'curves.norows');
  p.space.hidden = !lines.length;
  table(p, lines);
  legend(p, lines, d.refs);
  if (!lines.length) { p.plot?.destroy(); p.plot = null; p.key = ''; return; }
  const [cols, series, bands] = columns(p, lines, logy);
  const refs = $('#norefs').checked ? [] : d.refs;
  p.refs = refs;
  p.lines = lines;
  const key = JSON.stringify([series.map((s) => s.key), bands.length, $('#logx').checked, logy, colour('ink'), refs, d.unit, $('#x').value]);
  if (p.plot && p.key === key) {
    p.plot.setData(cols, false);
    scale(p);
    return;
  }
  p.plot?.destroy();
  p.key = key;
  const ink = colour('faint'), hair = colour('hair');
  const axis = { stroke: ink, grid: { stroke: hair, width: 1 }, ticks: { stroke: hair, width: 1 }, font: '12px system-ui, sans-serif', labelFont: '12px system-ui, sans-serif' };
  p.plot = new uPlot({
    width: p.space.clientWidth || 600, height: high(p), padding: [10, 12, 0, 0],
    scales: { x: { time: false, distr: $('#logx').checked ? 3 : 1 }, y: { distr: logy ? 3 : 1 } },
    axes: [
      { ...axis, label: say('curves.x.' + over(d)), labelSize: 20, values: (u, v) => apart(v, at) },
      { ...axis, size: 58, values: (u, v) => apart(v, number) },
    ],
    series: [{}, ...series.map((s) => s.opts)],
    bands,
    legend: { show: false },
    cursor: {
      sync: { key: 'curves' + over(d), setSeries: false }, points: { show: false }, drag: { x: true, y: false, setScale: false, dist: 6 },
      bind: { dblclick: () => () => { whole(); return null; } },
    },
    hooks: {
      setSelect: [(u) => {
        if (u.select.width < 6) return;
        const from = u.posToVal(u.select.left, 'x'), to = u.posToVal(u.select.left + u.select.width, 'x');
        u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
        zoom(from, to);
      }],
      setCursor: [(u) => tip(p, u)],
      drawClear: [(u) => shade(u)],
      draw: [(u) => references(p, u)],
    },
  }, cols, p.space);
  scale(p);
}

/** over is what the lines of a panel go over, and at writes a place on it. */
const over = (d) => $('#x').value || d.unit || 'steps';
const at = (x) => ($('#x').value === 'wall' ? seconds(x / 1000) : short(x));

/** columns makes what uPlot draws: one x for all, and for each line its value, its band and
    what is smoothed. */
function columns(p, lines, logy) {
  const tables = [], series = [], bands = [];
  const fit = (v) => (v === null || v === undefined || (logy && v <= 0) ? null : v);
  const thin = lines.length > 12;
  for (const l of lines) {
    const stroke = `a${l.colour % 8}`, col = colour(stroke), hide = !p.hidden.has(l.label);
    const cols = [l.step], at = series.length + 1;
    const add = (values, opts) => { cols.push(values.map(fit)); series.push({ key: l.label + opts.part + stroke + l.dash, opts: { spanGaps: true, points: { show: values.length < 3, size: 5, fill: col }, stroke: col, show: hide, ...opts } }); };
    const dash = dashes[l.dash % dashes.length];
    if (l.low) {
      add(l.high, { part: 'high', width: 0, points: { show: false } });
      add(l.low, { part: 'low', width: 0, points: { show: false } });
      bands.push({ series: [at, at + 1], fill: alpha(col, 0.16) });
    }
    const smooth = l.smooth?.some((v) => v !== null);
    add(l.value, { part: 'value', width: smooth ? 1 : thin ? 1 : 1.8, alpha: smooth ? 0.28 : 1, dash });
    if (smooth) add(l.smooth, { part: 'smooth', width: 2, dash });
    tables.push(cols);
  }
  return [tables.length === 1 ? tables[0] : uPlot.join(tables), series, bands];
}

function alpha(col, a) {
  const m = /^#(..)(..)(..)$/.exec(col);
  return m ? `rgba(${parseInt(m[1], 16)}, ${parseInt(m[2], 16)}, ${parseInt(m[3], 16)}, ${a})` : col;
}

/** scale sets the range of both axes: steps as chosen, values as shown, references in it. */
function scale(p) {
  const u = p.plot, logy = $('#logy').checked, logx = $('#logx').checked;
  let x0 = Infinity, x1 = -Infinity, lo = Infinity, hi = -Infinity;
  for (const l of p.lines) {
    x0 = Math.min(x0, l.step[0]);
    x1 = Math.max(x1, l.step.at(-1));
    if (p.hidden.has(l.label)) continue;
    const lists = data.weight && l.smooth ? [l.value, l.smooth] : [l.value];
    for (const list of lists) for (const v of list) if (v !== null && !(logy && v <= 0)) { lo = Math.min(lo, v); hi = Math.max(hi, v); }
    if (!l.low) continue;
    // A band far wider than the values, as that of two seeds may be, is cut and not followed.
    const [a, b] = [lo, hi], room = Math.max(b - a, 1e-12) * 0.75;
    for (const v of l.low) if (v !== null && !(logy && v <= 0)) lo = Math.min(lo, Math.max(v, a - room));
    for (const v of l.high) if (v !== null) hi = Math.max(hi, Math.min(v, b + room));
  }
  for (const r of p.refs) if (!(logy && r.Value <= 0)) { lo = Math.min(lo, r.Value); hi = Math.max(hi, r.Value); }
  if (view.from !== null) x0 = Number(view.from);
  else if (!logx) x0 = Math.min(0, x0);
  if (view.to !== null) x1 = Number(view.to);
  if (logx) x0 = Math.max(x0, 1);
  if (!(x1 > x0)) x1 = x0 + 1;
  if (!(hi >= lo)) { lo = logy ? 0.1 : 0; hi = 1; }
  const pad = logy ? 0 : (hi - lo || Math.abs(hi) * 0.1 || 0.5) * 0.05;
  u.batch(() => {
    u.setScale('x', { min: x0, max: x1 });
    u.setScale('y', logy ? { min: lo / 1.1, max: hi * 1.1 } : { min: lo - pad, max: hi + pad * (p.refs.length ? 2 : 1) });
  });
}

function shade(u) {
  const warm = data?.warm;
  if (!warm) return;
  const { ctx, bbox } = u;
  const right = Math.min(u.valToPos(warm, 'x', true), bbox.left + bbox.width);
  if (right <= bbox.left) return;
  ctx.save();
  ctx.fillStyle = alpha(colour('hair'), 0.55);
  ctx.fillRect(bbox.left, bbox.top, right - bbox.left, bbox.height);
  ctx.fillStyle = colour('faint');
  ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.textBaseline = 'top';
  const text = say('curves.warm');
  if (ctx.measureText(text).width < right - bbox.left - 8) ctx.fillText(text, bbox.left + 6 * devicePixelRatio, bbox.top + 5 * devicePixelRatio);
  ctx.restore();
}

function references(p, u) {
  const { ctx, bbox } = u, px = devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour('ref');
  ctx.lineWidth = px;
  ctx.font = `${11 * px}px system-ui, sans-serif`;
  ctx.textAlign = 'left';
  ctx.textBaseline = 'alphabetic';
  const right = bbox.left + bbox.width - 5 * px;
  const taken = []; // [height, left end, right end]
  for (const r of [...p.refs].sort((a, b) => b.Value - a.Value)) {
    const y = u.valToPos(r.Value, 'y', true);
    if (y < bbox.top || y > bbox.top + bbox.height) continue;
    ctx.setLineDash([5 * px, 4 * px]);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    // A name stands above its line at the right, or below it, or further left; where it has
    // no room, the note above the plot has it.
    const text = `${r.Name} ${number(r.Value)}`, wide = ctx.measureText(text).width;
    for (const [at, end] of [[y - 4 * px, right], [y + 12 * px, right], [y - 4 * px, right - 130 * px], [y - 4 * px, right - 260 * px]]) {
      const fits = end - wide > bbox.left + 2 * px && at > bbox.top + 8 * px && at < bbox.top + bbox.height;
      if (!fits || taken.some(([h, from, to]) => Math.abs(h - at) < 12 * px && end > from - 6 * px && end - wide < to + 6 * px)) continue;
      taken.push([at, end - wide, end]);
      ctx.fillText(text, end - wide, at);
      break;
    }
  }
  ctx.restore();
}

/** nearest returns the number of the point of a line nearest to a step. */
function nearest(l, x) {
  let lo = 0, hi = l.step.length - 1;
  while (lo < hi) { const mid = (lo + hi) >> 1; if (l.step[mid] < x) lo = mid + 1; else hi = mid; }
  return lo > 0 && x - l.step[lo - 1] < l.step[lo] - x ? lo - 1 : lo;
}

function tip(p, u) {
  const { left, top } = u.cursor;
  if (left === null || left === undefined || left < 0 || !p.lines) { p.tip.hidden = true; return; }
  const x = u.posToVal(left, 'x');
  const room = u.scales.x.max - u.scales.x.min;
  const rows = [];
  for (const l of p.lines) {
    if (p.hidden.has(l.label)) continue;
    const i = nearest(l, x);
    if (Math.abs(l.step[i] - x) > room * 0.05 && l.step.length > 1) continue;
    rows.push({ l, i, far: Math.abs((u.valToPos(l.value[i] ?? 0, 'y')) - top) });
  }
  if (!rows.length) { p.tip.hidden = true; return; }
  rows.sort((a, b) => a.far - b.far);
  const most = rows.slice(0, 8).sort((a, b) => (b.l.value[b.i] ?? -Infinity) - (a.l.value[a.i] ?? -Infinity));
  p.tip.replaceChildren(make('table', {}, make('tbody', {}, most.map(({ l, i }) => make('tr', {},
    make('td', { className: 'left' }, swatch(l.colour), l.label),
    make('td', {}, number(l.value[i]) + (l.smooth && l.smooth[i] !== null ? ` (${number(l.smooth[i])})` : '')),
    make('td', { className: 'faint' }, at(l.step[i])),
    make('td', { className: 'faint left' }, behind(l, i)))))),
    rows.length > most.length ? make('div', { className: 'faint' }, `+ ${rows.length - most.length}`) : '');
  p.tip.hidden = false;
  const wide = p.tip.offsetWidth, over = u.over;
  const at = over.offsetLeft + left;
  p.tip.style.left = `${at + wide + 24 > p.space.clientWidth ? Math.max(0, at - wide - 14) : at + 14}px`;
  p.tip.style.top = `${Math.max(0, Math.min(over.offsetTop + top - 20, p.space.clientHeight - p.tip.offsetHeight))}px`;
}

function behind(l, i) {
  if (l.runs) return say('curves.hover.runs', l.runs[i], !l.low || l.low[i] === null ? '–' : `${number(l.low[i])} – ${number(l.high[i])}`, short(l.n[i]));
  return l.rows[i] > 1 ? say('curves.hover', short(l.n[i]), l.rows[i]) : say('curves.hover.row', short(l.n[i]));
}

function legend(p, lines, refs) {
  const key = JSON.stringify([lines.map((l) => [l.label, l.colour, l.dash]), [...p.hidden]]);
  if (p.legend.key_ === key) return;
  p.legend.key_ = key;
  p.legend.replaceChildren(...(lines.length > 24 ? [] : lines.map((l) => make('li', {}, make('button', {
    type: 'button', className: 'quiet key' + (p.hidden.has(l.label) ? ' off' : ''), 'aria-pressed': String(!p.hidden.has(l.label)),
    onclick: () => { p.hidden.has(l.label) ? p.hidden.delete(l.label) : p.hidden.add(l.label); p.key = ''; show(p, p.data); },
  }, strokeOf(l), l.label)))));
}

const strokeOf = (l) => {
  const svg = make('svg', { svg: true, viewBox: '0 0 22 8', class: 'stroke', 'aria-hidden': 'true' });
  svg.append(make('line', { svg: true, x1: 0, x2: 22, y1: 4, y2: 4, stroke: `var(--a${l.colour % 8})`, 'stroke-width': 2.5, 'stroke-dasharray': dashes[l.dash % dashes.length].join(' ') || null }));
  return svg;
};

function table(p, lines) {
  if (!p.details.open && p.table.children.length) { p.stale = lines; return; }
  const row = (l) => {
    const v = l.value.filter((x) => x !== null);
    const i = l.value.findLastIndex((x) => x !== null);
    return make('tr', {}, make('td', { className: 'left' }, l.label), ...(i < 0 ? ['–', '–', '–', '–'] : [number(l.value[i]), at(l.step[i]), number(v.reduce((a, b) => Math.min(a, b), Infinity)), number(v.reduce((a, b) => Math.max(a, b), -Infinity))]).map((t) => make('td', {}, t)),
      make('td', {}, String(l.of)), make('td', { className: 'left' }, i < 0 ? '' : behind(l, i)));
  };
  p.table.replaceChildren(make('table', { data: { test: 'table' } }, make('thead', {}, make('tr', {},
    ['curves.line', 'curves.last', 'curves.steps', 'curves.lowest', 'curves.highest', 'curves.rows'].map((k, i) => make('th', { className: i ? '' : 'left' }, say(k))), make('th'))),
  make('tbody', {}, lines.map(row))));
  p.details.ontoggle = () => { if (p.details.open && p.stale) { const s = p.stale; p.stale = null; p.table.replaceChildren(); table(p, s); } };
}

// ---- ranges ----

function zoom(from, to) {
  view.from = String(Math.max(0, Math.round(from)));
  view.to = String(Math.max(Number(view.from) + 1, Math.round(to)));
  for (const p of plots.values()) if (p.plot) scale(p);
  changed();
}
function whole() { if (view.from === null && view.to === null) return; view.from = view.to = null; changed(); }
function around(f) {
  const u = [...plots.values()].find((p) => p.plot)?.plot;
  if (!u) return;
  const { min, max } = u.scales.x;
  zoom(...f(min, max, max - min));
}

// ---- wiring ----

form.addEventListener('submit', (e) => e.preventDefault());
for (const id of [...selects, 'logx', 'logy', 'norefs']) $('#' + id).addEventListener('change', () => { if (id === 'x') view.from = view.to = null; changed(); });
const smoothing = later(120, () => changed());
$('#w').addEventListener('input', () => { tools(); smoothing(); });
$('#filter').addEventListener('input', later(80, chooser));
$('#reset').addEventListener('click', whole);
$('#add').addEventListener('change', () => {
  const text = $('#add').value.trim();
  const options = $$('#all-runs option');
  const hit = options.find((o) => o.value === text || o.textContent === text) ?? options.find((o) => text && o.textContent.includes(text));
  const name = hit ? hit.value : text;
  if (!name) return;
  $('#add').value = '';
  if (!view.runs.includes(name)) { view.runs.push(name); changed({ reopen: true }); }
});
themed(() => { for (const p of plots.values()) p.key = ''; draw(); });
addEventListener('popstate', () => location.reload());
addEventListener('resize', later(300, () => { const w = box.clientWidth; if (Math.abs(w - width) > 200) { width = w; refresh(); } }));
keys([
  ['+ -', say('keys.zoom'), (e) => around((a, b, d) => (e.key === '+' ? [a + d / 4, b - d / 4] : [a - d / 2, b + d / 2]))],
  ['← →', say('keys.pan'), (e) => around((a, b, d) => { const s = (e.key === 'ArrowLeft' ? -1 : 1) * d / 5; return a + s < 0 ? [0, d] : [a + s, b + s]; })],
  ['0', say('keys.whole'), whole],
  ['l', say('keys.lines'), () => { const s = $('#by'); s.selectedIndex = (s.selectedIndex + 1) % s.options.length; changed(); }],
  ['/', say('keys.metric'), () => $('#filter').focus()],
]);
width = box.clientWidth;
tools();
runs();
if (some()) box.replaceChildren(make('p', { className: 'faint' }, say('loading')));
refresh();
listen();
