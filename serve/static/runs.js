// The page of runs: a table that is live, searched, sorted and filtered; tags and notes
// edited in place; what is chosen goes to curves and comparisons.
import { $, $$, address, ask, figure, follow, keys, later, loaded, make, say, seconds, short, when } from './kit.js';
import { ended } from './done.js';

await loaded();

const rows = new Map(); // name -> row
const open = new Set(), picked = new Set();
let rev = 0, skew = 0, shown = [], limit = 150, editing = null;
const q = address.read();
const view = { q: q.get('q') ?? '', sort: q.get('sort') ?? 'started', up: q.has('up'), states: new Set(q.getAll('state')), tags: new Set(q.getAll('tag')) };
const body = $('#runs tbody'), acts = document.body.dataset.acts === 'true';
const order = ['running', 'damaged', 'failed', 'killed', 'stopped', 'waiting', 'done'];

const sorts = {
  title: (r) => r.title, state: (r) => order.indexOf(r.state), seeds: (r) => r.seeds.length,
  progress: (r) => (r.steps ? r.step / r.steps : -1), mean: (r) => r.mean ?? -Infinity,
  findings: (r) => ['', 'pass', 'note', 'suspect', 'fault'].indexOf(r.worst ?? '') * 1000 + r.findings.length, started: (r) => r.started,
};

function matches(r) {
  if (view.states.size && !view.states.has(r.state)) return false;
  for (const t of view.tags) if (!r.tags.includes(t)) return false;
  if (!view.q) return true;
  const text = [r.title, r.preset, r.game, r.note, r.state, ...r.tags, ...settings(r)].join(' ').toLowerCase();
  return view.q.toLowerCase().split(/\s+/).every((w) => text.includes(w) || holds(r, w));
}

/** the settings in which a run differs from others of its preset, as texts. */
const settings = (r) => Object.entries(r.settings).map(([path, value]) => path + '=' + value);

/** whether a word such as lr<0.01 or steps>=2e4 is true of a run's settings or its score. */
function holds(r, word) {
  const m = /^([\w.]+)(<=|>=|<|>|=)(.+)$/.exec(word);
  if (!m) return false;
  const [, name, sign, text] = m;
  const found = name === 'score' ? [r.mean] : Object.entries(r.settings).filter(([path]) => ('.' + path.toLowerCase()).endsWith('.' + name)).map(([, value]) => value);
  return found.some((value) => {
    const x = Number(value), y = Number(text);
    if (value === null || Number.isNaN(x) || Number.isNaN(y)) return sign === '=' && String(value).toLowerCase() === text;
    return { '<': x < y, '>': x > y, '<=': x <= y, '>=': x >= y, '=': x === y }[sign];
  });
}

const natural = new Intl.Collator('en', { numeric: true }); // 2 before 10

function choose() {
  const f = sorts[view.sort] ?? sorts.started;
  const dir = view.up ? 1 : -1;
  shown = [...rows.values()].filter(matches).sort((a, b) => {
    const x = f(a), y = f(b);
    const order = typeof x === 'string' ? natural.compare(x, y) : x - y;
    return order * dir || natural.compare(a.run, b.run);
  });
}

/** parts of a row; each is drawn anew only when what it shows has changed. */
const cells = {
  pick: (r) => [make('input', { type: 'checkbox', checked: picked.has(r.run), 'aria-label': say('runs.pick', r.title), onchange: () => pick(r.run) })],
  run: (r) => [
    make('a', { href: '/curves?run=' + encodeURIComponent(r.run).replaceAll('%2F', '/').replaceAll('%3A', ':') }, r.title), ' ',
    r.preset && make('small', { className: 'faint' }, r.preset + (r.game ? ' · ' + r.game : '')),
    settings(r).flatMap((text) => [' ', make('span', { className: 'chip' }, text)]),
  ],
  state: (r) => stateOf(r, r.seeds),
  seeds: (r) => [make('button', {
    className: 'quiet seeds', type: 'button', 'aria-expanded': String(open.has(r.run)), 'aria-label': say('runs.open', r.title),
    onclick: () => toggle(r.run),
  }, (open.has(r.run) ? '▾ ' : '▸ ') + r.seeds.length)],
  progress: (r) => progress(r),
  mean: (r) => r.mean === null ? [] : [
    make('span', { title: say('runs.scored', r.scored, r.seeds.length, r.ci ? say('runs.interval', range(r.ci)) : say('runs.nointerval')) }, figure(r.mean)),
    r.ci ? make('small', { className: 'faint' }, ' ' + range(r.ci)) : null,
    r.scored < r.seeds.length ? make('small', { className: 'moving', title: say('runs.moving') }, ` ${r.scored}/${r.seeds.length}`) : null,
  ],
  findings: (r) => r.findings.length ? [make('details', { className: 'found' },
    make('summary', { className: 'mark ' + (r.worst || 'open') }, String(r.findings.length)),
    make('ul', {}, r.findings.map((f) => make('li', {}, make('b', {}, f.check), ` (${say('runs.seed', f.seed)}, ${short(f.step)}): ${f.says} `, make('i', {}, f.next)))))] : [],
  tags: (r) => (editing === r.run ? null : [
    r.tags.map((t) => make('span', { className: 'chip' }, t)),
    r.note && make('small', { className: 'note-text', title: r.note }, r.note),
    acts && make('button', { className: 'quiet edit', type: 'button', 'aria-label': say('runs.edit', r.title), onclick: () => edit(r.run), data: { test: 'edit' } }, '✎'),
  ]),
  started: (r) => [make('small', { title: r.started }, when(r.started)), r.page && make('a', { className: 'report', href: '/diagnose?run=' + encodeURIComponent(r.run) }, say('runs.report'))],
};

const range = (ci) => ci[0] === null ? '–' : `${figure(ci[0])} – ${figure(ci[1])}`;

function stateOf(r, seeds) {
  const quiet = seeds?.filter((s) => s.silent) ?? (r.silent ? [r] : []);
  const pids = [...new Set((seeds ?? [r]).map((s) => s.pid).filter(Boolean))].join(', ');
  const hint = r.why || { running: say('hint.running', pids || '?'), killed: say('hint.killed'), stopped: say('hint.stopped') }[r.state] || '';
  return [
    make('span', { className: 'state ' + r.state, title: hint }, say('state.' + r.state)),
    quiet.length ? make('small', { className: 'silent' }, ' ' + say('state.silent', ago(Math.max(...quiet.map((s) => Date.parse(s.last)))))) : null,
    r.why ? make('small', { className: 'why' }, r.why) : null,
    !r.why && r.loose ? make('small', { className: 'why', title: r.loose, data: { test: 'loose' } }, say('state.loose')) : null,
    !r.why && r.sealed ? make('small', { className: 'faint', title: say('hint.sealed') }, ' ' + say('state.sealed')) : null,
  ];
}

const ago = (t) => seconds(Math.max(0, Math.round((Date.now() - skew - t) / 1000)));

function progress(r) {
  const left = r.left !== null && r.left !== undefined;
  return [
    r.steps ? make('progress', { max: r.steps, value: Math.min(r.step, r.steps), 'aria-label': say('runs.progress') }) : null,
    make('small', {}, ' ' + short(r.step) + (r.steps ? ' / ' + short(r.steps) : ''), left ? make('span', { className: 'left-time' }, ' · ' + say('runs.left', seconds(r.left))) : null),
  ];
}

function seedRows(r) {
  return r.seeds.map((s) => make('tr', { className: 'seed', data: { seedOf: r.run } },
    make('td'), make('td', { className: 'left run' }, make('a', { href: '/curves?run=' + encodeURIComponent(s.run) + '&by=seed' }, say('runs.seed', s.seed))),
    make('td', { className: 'left' }, stateOf(s)), make('td'), make('td', { className: 'left' }, progress(s), s.rate ? make('small', { className: 'faint' }, ' · ' + say('runs.rate', short(s.rate))) : null),
    make('td', {}, s.mean === null || s.mean === undefined ? '' : figure(s.mean), s.se ? make('small', { className: 'faint' }, ' ± ' + figure(s.se)) : null),
    make('td'), make('td'), make('td', { className: 'left' }, make('small', {}, when(s.started)))));
}

const classes = { pick: 'pick', run: 'left run', state: 'left', seeds: 'left', progress: 'left', mean: '', findings: 'left', tags: 'left tagged', started: 'left' };

function draw(r) {
  const tr = make('tr', { tabIndex: -1, data: { run: r.run, state: r.state } });
  tr.cells_ = {};
  for (const name of Object.keys(cells)) {
    const td = make('td', { className: classes[name] });
    tr.cells_[name] = td;
    tr.append(td);
  }
  refresh(tr, r);
  return tr;
}

function refresh(tr, r) {
  tr.dataset.state = r.state;
  tr.classList.toggle('picked-row', picked.has(r.run));
  for (const [name, f] of Object.entries(cells)) {
    const td = tr.cells_[name];
    const key = name + JSON.stringify([r[name], r.state, r.why, r.loose, r.sealed, r.step, r.left, r.tags, r.note, r.ci, r.scored, r.settings, r.seeds.map((s) => [s.state, s.silent]), picked.has(r.run), open.has(r.run), editing === r.run, r.seeds.length]);
    if (td.key_ === key) continue;
    if (td.contains(document.activeElement) && document.activeElement !== td && name !== 'tags' && name !== 'seeds' && name !== 'pick') { if (name === 'findings') continue; }
    const parts = f(r);
    if (parts === null) continue;
    const had = td.contains(document.activeElement) ? document.activeElement.tagName : null;
    td.key_ = key;
    td.replaceChildren(...parts.flat().filter(Boolean));
    if (had) td.querySelector(had)?.focus();
  }
}

const drawn = new Map(); // name -> tr

function render() {
  choose();
  const list = shown.slice(0, limit);
  const want = [];
  for (const r of list) {
    let tr = drawn.get(r.run);
    if (!tr) { tr = draw(r); drawn.set(r.run, tr); } else refresh(tr, r);
    want.push(tr);
    if (open.has(r.run)) want.push(...seedRows(r));
  }
  // Only what has moved is moved: a focus or a selection elsewhere stays.
  for (const old of $$('tr.seed', body)) old.remove();
  let at = body.firstElementChild;
  for (const tr of want) {
    if (tr === at) { at = at.nextElementSibling; continue; }
    body.insertBefore(tr, at);
  }
  while (at) { const next = at.nextElementSibling; at.remove(); at = next; }
  for (const [name, tr] of drawn) if (!tr.isConnected && !rows.has(name)) drawn.delete(name);
  $('#count').textContent = shown.length === rows.size ? say('runs.count', rows.size) : say('runs.count.some', shown.length, rows.size);
  $('#more').textContent = shown.length > limit ? say('runs.more', limit, shown.length) : rows.size && !shown.length ? say('runs.match') : '';
  if (rows.size) $('#empty')?.remove();
  chips();
  bar();
}

function chips() {
  const states = order.filter((s) => [...rows.values()].some((r) => r.state === s));
  const tags = [...new Set([...rows.values()].flatMap((r) => r.tags))].sort();
  const put = (box, list, set, word) => {
    const key = JSON.stringify([list, [...set]]);
    if (box.key_ === key) return;
    box.key_ = key;
    const had = box.contains(document.activeElement) ? document.activeElement.dataset.value : null;
    box.replaceChildren(...list.map((x) => make('button', {
      type: 'button', className: 'chip', 'aria-pressed': String(set.has(x)), data: { value: x },
      onclick: () => { set.has(x) ? set.delete(x) : set.add(x); changed(); },
    }, word(x))));
    if (had !== null) $$('button', box).find((b) => b.dataset.value === had)?.focus();
  };
  put($('#states'), states.length > 1 || view.states.size ? states : [], view.states, (s) => say('state.' + s));
  put($('#tags'), tags, view.tags, (t) => '# ' + t);
}

function bar() {
  const box = $('#picked');
  for (const name of [...picked]) if (!rows.has(name)) picked.delete(name);
  box.hidden = picked.size === 0;
  const all = $('#pick-all');
  all.checked = shown.length > 0 && shown.every((r) => picked.has(r.run));
  all.indeterminate = !all.checked && picked.size > 0;
  const key = [...picked].join();
  if (box.key_ === key) return;
  box.key_ = key;
  const runs = [...picked].map((r) => 'run=' + encodeURIComponent(r).replaceAll('%2F', '/').replaceAll('%3A', ':')).join('&');
  box.replaceChildren(make('span', { role: 'status' }, say('runs.picked', picked.size)), ' ',
    make('a', { className: 'main', href: '/curves?' + runs, data: { test: 'to-curves' } }, say('page.curves')),
    make('a', { className: 'main', href: '/compare?' + runs, data: { test: 'to-compare' } }, say('page.compare')),
    make('button', { type: 'button', onclick: () => { picked.clear(); render(); } }, say('runs.clear')));
}

function pick(name) { picked.has(name) ? picked.delete(name) : picked.add(name); render(); }
function toggle(name) { open.has(name) ? open.delete(name) : open.add(name); render(); }

function edit(name) {
  if (editing) { editing = null; }
  const r = rows.get(name), td = drawn.get(name)?.cells_.tags;
  if (!r || !td || !acts) return;
  editing = name;
  const tags = make('input', { value: r.tags.join(', '), maxLength: 800, placeholder: say('runs.edit.tags'), 'aria-label': say('runs.edit.tags'), data: { test: 'edit-tags' } });
  const note = make('textarea', { value: r.note, rows: 2, maxLength: 4000, placeholder: say('runs.edit.note'), 'aria-label': say('runs.edit.note'), data: { test: 'edit-note' } });
  const close = () => { editing = null; td.key_ = ''; render(); $('button.edit', td)?.focus(); };
  const form = make('form', {
    className: 'editing', onkeydown: (e) => { if (e.key === 'Escape') { e.stopPropagation(); close(); } },
    onsubmit: async (e) => {
      e.preventDefault();
      try {
        const row = await ask('/api/runs/label', { method: 'POST', body: { run: name, tags: tags.value.split(','), note: note.value } });
        rows.set(name, row);
        close();
      } catch { tags.focus(); }
    },
  }, tags, note, make('span', { className: 'tools' }, make('button', { className: 'main', data: { test: 'edit-save' } }, say('runs.save')), make('button', { type: 'button', onclick: close }, say('runs.cancel'))));
  td.key_ = '';
  td.replaceChildren(form);
  tags.focus();
}

function changed() {
  limit = 150;
  address.write({ q: view.q, sort: view.sort === 'started' ? '' : view.sort, up: view.up, state: [...view.states], tag: [...view.tags], rows: '' });
  heads();
  render();
}

function heads() {
  for (const th of $$('#runs th[data-sort]')) {
    let b = $('button', th);
    if (!b) {
      b = make('button', { className: 'quiet head', type: 'button', onclick: () => {
        const name = th.dataset.sort;
        if (view.sort === name) view.up = !view.up;
        else { view.sort = name; view.up = ['title', 'state'].includes(name); }
        changed();
      } }, th.textContent);
      th.replaceChildren(b);
    }
    th.setAttribute('aria-sort', view.sort !== th.dataset.sort ? 'none' : view.up ? 'ascending' : 'descending');
  }
}

function take(d) {
  skew = Date.now() - d.now;
  if (d.all) { rows.clear(); }
  ended(d.rows);
  for (const r of d.rows) rows.set(r.run, r);
  for (const name of d.gone) { rows.delete(name); drawn.delete(name); open.delete(name); }
  rev = d.rev;
  render();
}

$('#q').value = view.q;
$('#q').addEventListener('input', later(120, () => { view.q = $('#q').value.trim(); changed(); }));
$('#filters').addEventListener('submit', (e) => e.preventDefault());
$('#pick-all').addEventListener('change', (e) => {
  for (const r of shown) e.target.checked ? picked.add(r.run) : picked.delete(r.run);
  render();
});
new IntersectionObserver((seen) => {
  if (seen.some((x) => x.isIntersecting) && shown.length > limit) { limit += 300; render(); }
}, { rootMargin: '600px' }).observe($('#more'));

let at = -1;
function move(by) {
  const list = $$('tr[data-run]', body);
  if (!list.length) return;
  const now = list.indexOf(document.activeElement.closest?.('tr[data-run]'));
  at = Math.min(Math.max((now >= 0 ? now : at) + by, 0), list.length - 1);
  list[at].focus();
  list[at].scrollIntoView({ block: 'nearest' });
}
const here = () => document.activeElement.closest?.('tr[data-run]')?.dataset.run;
const go = (path) => { const list = picked.size ? [...picked] : [here()].filter(Boolean); if (list.length) location.href = path + '?' + list.map((r) => 'run=' + encodeURIComponent(r)).join('&'); };
keys([
  ['/', say('keys.search'), () => $('#q').focus()],
  ['j ↓', say('keys.down'), () => move(1)],
  ['k ↑', say('keys.up'), () => move(-1)],
  ['x', say('keys.pick'), () => { const r = here(); if (r) pick(r); }],
  ['o', say('keys.open'), () => { const r = here(); if (r) toggle(r); }],
  ['e', say('keys.edit'), () => { const r = here(); if (r) edit(r); }],
  ['c', say('keys.curves'), () => go('/curves')],
  ['m', say('keys.compare'), () => go('/compare')],
]);

heads();
follow(() => '/api/runs/stream?rev=' + rev, { runs: take });
setInterval(() => { if ([...rows.values()].some((r) => r.seeds.some((s) => s.silent))) { for (const tr of drawn.values()) tr.cells_.state.key_ = ''; render(); } }, 5000);
