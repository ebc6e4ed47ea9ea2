// The page of runs: a table that is live, searched, sorted, filtered and grouped, with the columns
// that are chosen; tags and notes edited in place, runs renamed, archived and deleted; what is
// chosen goes to curves and comparisons. The address holds the view.
import { $, $$, address, ask, figure, follow, keys, later, loaded, make, say, seconds, short, when } from './kit.js';
import { fields, grouped, matches, natural, settingsOf, shortName, summary, textOf } from './fields.js';
import { ended } from './done.js';

await loaded();

const rows = new Map(); // name -> row
const open = new Set(), openGroups = new Set(), picked = new Set();
let rev = 0, skew = 0, shown = [], limit = 60, editing = null, settings = [], columns = [];
const q = address.read();
const view = {
  q: q.get('q') ?? '', sort: q.get('sort') ?? 'started', up: q.has('up'), states: new Set(q.getAll('state')), tags: new Set(q.getAll('tag')),
  kind: q.get('kind') ?? '', archived: q.get('archived') === '1', group: q.get('group') ?? '', cols: q.has('col') ? q.getAll('col') : null,
};
const body = $('#runs tbody'), acts = document.body.dataset.acts === 'true';
const order = ['running', 'damaged', 'failed', 'killed', 'stopped', 'waiting', 'done'];

const sorts = {
  run: (r) => r.title, state: (r) => order.indexOf(r.state), seeds: (r) => r.seeds.length,
  progress: (r) => (r.steps ? r.step / r.steps : -1), mean: (r) => r.mean ?? -Infinity,
  findings: (r) => ['', 'pass', 'note', 'suspect', 'fault'].indexOf(r.worst ?? '') * 1000 + r.findings.length, started: (r) => r.started,
};

function choose() {
  const f = sorts[view.sort] ?? fields[view.sort]?.of ?? ((r) => r.settings[view.sort] ?? '');
  const dir = view.up ? 1 : -1;
  shown = [...rows.values()].filter((r) => matches(r, view)).sort((a, b) => {
    const x = f(a), y = f(b);
    const order = typeof x === 'string' ? natural.compare(x, y) : x - y;
    return order * dir || natural.compare(a.run, b.run);
  });
}

const to = (path, r) => path + '?run=' + encodeURIComponent(r).replaceAll('%2F', '/').replaceAll('%3A', ':');

/** what stands in the columns that are not settings or fields. */
const cells = {
  pick: (r) => [make('input', { type: 'checkbox', checked: picked.has(r.run), 'aria-label': say('runs.pick', r.title), onchange: () => pick(r.run) })],
  run: (r) => [
    make('a', { href: to('/curves', r.run), title: r.title }, r.title), ' ',
    r.preset && make('small', { className: 'faint' }, r.preset + (r.game ? ' · ' + r.game : '')),
  ],
  state: (r) => stateOf(r, r.seeds),
  seeds: (r) => [make('button', {
    className: 'quiet seeds', type: 'button', 'aria-expanded': String(open.has(r.run)), 'aria-label': say('runs.open', r.title),
    onclick: () => toggle(r.run),
  }, (open.has(r.run) ? '▾ ' : '▸ ') + r.seeds.length)],
  progress: (r) => progress(r, r.unit),
  mean: (r) => r.mean === null ? [] : [
    make('span', { title: say('runs.scored', r.scored, r.seeds.length, r.ci ? say('runs.interval', range(r.ci)) : say('runs.nointerval')) }, figure(r.mean)),
    r.ci ? make('small', { className: 'faint' }, ' ' + range(r.ci)) : null,
    r.scored < r.seeds.length ? make('small', { className: 'moving', title: say('runs.moving') }, ` ${r.scored}/${r.seeds.length}`) : null,
  ],
  findings: (r) => r.findings.length ? [make('details', { className: 'found' },
    make('summary', { className: 'mark ' + (r.worst || 'open') }, String(r.findings.length)),
    make('ul', {}, r.findings.map((f) => make('li', {}, make('b', {}, f.check), ` (${say('runs.seed', f.seed)}, ${short(f.step)}): ${f.says} `, make('i', {}, f.next)))))] : [],
  tags: (r) => [
    r.tags.map((t) => make('span', { className: 'chip' }, t)),
    r.note && make('small', { className: 'note-text', title: r.note }, r.note),
    acts && make('button', { className: 'quiet edit', type: 'button', 'aria-label': say('runs.edit', r.title), onclick: () => edit(r.run), data: { test: 'edit' } }, '✎'),
  ],
  started: (r) => [make('small', { title: r.started }, when(r.started)), r.page && make('a', { className: 'report', href: '/diagnose?run=' + encodeURIComponent(r.run) }, say('runs.report'))],
};

/** the columns that can be chosen, and those that are shown unless others are. */
const choosable = () => ['state', 'seeds', 'progress', 'mean', ...settings, 'duration', 'preset', 'game', 'folder', 'host', 'commit', 'findings', 'tags', 'started', 'last'];
const usual = () => ['state', 'seeds', 'progress', 'mean', ...settings.slice(0, 5), 'findings', 'tags', 'started'];
const titleOf = (name) => (cells[name] || fields[name] ? say('runs.' + name) : shortName(name, settings));

const range = (ci) => ci[0] === null ? '–' : `${figure(ci[0])} – ${figure(ci[1])}`;

function stateOf(r, seeds) {
  const quiet = seeds?.filter((s) => s.silent) ?? (r.silent ? [r] : []);
  const pids = [...new Set((seeds ?? [r]).map((s) => s.pid).filter(Boolean))].join(', ');
  const hint = r.why || { running: say('hint.running', pids || '?'), killed: say('hint.killed'), stopped: say('hint.stopped') }[r.state] || '';
  return [
    make('span', { className: 'state ' + r.state, title: hint }, say('state.' + r.state)),
    quiet.length ? make('small', { className: 'silent' }, ' ' + say('state.silent', ago(Math.max(...quiet.map((s) => Date.parse(s.last)))))) : null,
    r.why ? make('small', { className: 'why', title: r.why }, r.why) : null,
    !r.why && r.loose ? make('small', { className: 'why', title: r.loose, data: { test: 'loose' } }, say('state.loose')) : null,
    !r.why && r.sealed ? make('small', { className: 'faint', title: say('hint.sealed') }, ' ' + say('state.sealed')) : null,
  ];
}

const ago = (t) => seconds(Math.max(0, Math.round((Date.now() - skew - t) / 1000)));

function progress(r, unit) {
  const left = r.left !== null && r.left !== undefined;
  return [
    r.steps ? make('progress', { max: r.steps, value: Math.min(r.step, r.steps), 'aria-label': say('runs.progress') }) : null,
    make('small', {}, ' ' + short(r.step) + (r.steps ? ' / ' + short(r.steps) : '') + (unit ? ' ' + say('unit.' + unit) : ''), left ? make('span', { className: 'left-time' }, ' · ' + say('runs.left', seconds(r.left))) : null),
  ];
}

function seedRows(r) {
  const put = {
    run: (s) => [make('a', { href: to('/curves', s.run) + '&by=seed' }, say('runs.seed', s.seed))], state: (s) => stateOf(s),
    progress: (s) => [progress(s, r.unit), s.rate ? make('small', { className: 'faint' }, ' · ' + say('runs.rate', short(s.rate))) : null],
    mean: (s) => [s.mean === null || s.mean === undefined ? '' : figure(s.mean), s.se ? make('small', { className: 'faint' }, ' ± ' + figure(s.se)) : null],
    duration: (s) => [s.wall ? seconds(s.wall) : ''], started: (s) => [make('small', {}, when(s.started))],
  };
  return r.seeds.map((s) => make('tr', { className: 'seed', data: { seedOf: r.run } }, columns.map((name) => make('td', { className: 'c-' + name }, put[name]?.(s) ?? []))));
}

/** a line over the runs of a group: how many, what their seeds come to, and what they agree in. */
function groupRow(value, list) {
  const id = view.group + '=' + value, all = list.every((r) => picked.has(r.run)), sum = summary(list);
  const put = {
    pick: () => [make('input', { type: 'checkbox', checked: all, 'aria-label': say('runs.pick', id), onchange: () => { for (const r of list) all ? picked.delete(r.run) : picked.add(r.run); render(); } })],
    run: () => [make('button', { type: 'button', className: 'quiet seeds', 'aria-expanded': String(openGroups.has(id)), onclick: () => { openGroups.has(id) ? openGroups.delete(id) : openGroups.add(id); render(); } },
      (openGroups.has(id) ? '▾ ' : '▸ ') + titleOf(view.group) + ' ', make('b', {}, value === '' ? '–' : value)), make('small', { className: 'faint' }, ' ' + say('runs.group.count', list.length, sum.n))],
    mean: () => sum.mean === null ? [sum.games > 1 ? make('small', { className: 'faint' }, say('runs.group.games')) : ''] : [
      make('span', { title: say('runs.group.mean', sum.n) }, figure(sum.mean)), sum.ci ? make('small', { className: 'faint' }, ' ' + range(sum.ci)) : null],
    duration: () => [seconds(list.reduce((a, r) => a + r.wall, 0) / list.length)],
  };
  const same = (name) => { const text = textOf(name, list[0]); return list.every((r) => textOf(name, r) === text) ? [text] : []; };
  return make('tr', { className: 'group', data: { group: value } }, columns.map((name) => make('td', { className: classOf(name) },
    put[name] ? put[name]() : cells[name] ? [] : same(name))));
}

const classOf = (name) => 'c-' + (cells[name] || fields[name] ? name : 'set') + (['pick', 'mean'].includes(name) ? '' : ' left');

function draw(r) {
  const tr = make('tr', { tabIndex: -1, data: { run: r.run } });
  tr.cells_ = {};
  for (const name of columns) tr.append(tr.cells_[name] = make('td', { className: classOf(name), data: cells[name] ? {} : { label: titleOf(name) } }));
  return tr;
}

/** refresh draws a row anew where what it shows is another: the server sends a row only when it has changed. */
function refresh(tr, r) {
  const now = [picked.has(r.run), open.has(r.run)].join();
  if (tr.row_ === r && tr.now_ === now) return tr;
  tr.dataset.state = r.state;
  tr.classList.toggle('picked-row', picked.has(r.run));
  for (const [name, td] of Object.entries(tr.cells_)) {
    if (name === 'tags' && editing === r.run || name === 'findings' && td.firstChild?.open && r.findings.length === tr.row_.findings.length) continue;
    const had = td.contains(document.activeElement) ? document.activeElement.tagName : null;
    if (cells[name]) td.replaceChildren(...cells[name](r).flat().filter(Boolean));
    else td.title = td.textContent = textOf(name, r);
    if (had) td.querySelector(had)?.focus();
  }
  tr.row_ = r;
  tr.now_ = now;
  return tr;
}

const drawn = new Map(); // name -> tr

/** what follows what in the table: rows, or groups with the rows of those that are open. */
function lines() {
  let room = limit;
  const some = (list) => list.slice(0, room).flatMap((r) => {
    room--;
    if (!drawn.has(r.run)) drawn.set(r.run, draw(r));
    return [refresh(drawn.get(r.run), r), ...(open.has(r.run) ? seedRows(r) : [])];
  });
  return !view.group ? some(shown) : grouped(shown, view.group).flatMap(([value, list]) => [groupRow(value, list), ...(openGroups.has(view.group + '=' + value) ? some(list) : [])]);
}

function render() {
  settings = settingsOf([...rows.values()].filter((r) => !!r.stage === (view.kind === 'stages')));
  const want = ['pick', 'run', ...(view.cols ?? usual()).filter((name) => choosable().includes(name))];
  if (want.join() !== columns.join()) { columns = want; drawn.clear(); heads(); }
  choose();
  const had = document.activeElement.closest?.('tr.group')?.dataset.group, tag = document.activeElement.tagName;
  for (const old of $$('tr.seed, tr.group', body)) old.remove();
  let at = body.firstElementChild; // only what has moved is moved: a focus or a selection elsewhere stays
  for (const tr of lines()) {
    if (tr === at) { at = at.nextElementSibling; continue; }
    body.insertBefore(tr, at);
  }
  while (at) { const next = at.nextElementSibling; at.remove(); at = next; }
  for (const [name, tr] of drawn) if (!tr.isConnected && !rows.has(name)) drawn.delete(name);
  if (had !== undefined) $$('tr.group', body).find((tr) => tr.dataset.group === had)?.querySelector(tag)?.focus();
  const all = [...rows.values()].filter((r) => !!r.stage === (view.kind === 'stages') && !!r.archived === view.archived).length;
  $('#count').textContent = shown.length === all ? say('runs.count', all) : say('runs.count.some', shown.length, all);
  $('#more').textContent = !view.group && shown.length > limit ? say('runs.more', limit, shown.length) : rows.size && !shown.length ? say('runs.match') : '';
  if (rows.size) $('#empty')?.remove();
  chips();
  menus();
  bar();
}

/** menus fill the choice of columns and of what to group by. */
function menus() {
  const names = choosable(), key = names.join() + columns.join() + view.group;
  const box = $('#columns'), group = $('#group');
  if (box.key_ === key) return;
  box.key_ = key;
  box.replaceChildren(...names.map((name) => make('label', { title: name }, make('input', { type: 'checkbox', checked: columns.includes(name), value: name, onchange: (e) => {
    const now = columns.slice(2);
    view.cols = names.filter((x) => (x === name ? e.target.checked : now.includes(x)));
    changed();
  } }), ' ', titleOf(name))), make('button', { type: 'button', hidden: !view.cols, onclick: () => { view.cols = null; changed(); } }, say('runs.columns.usual')));
  group.replaceChildren(make('option', { value: '' }, say('runs.group.none')), ...['preset', 'game', 'state', 'tags', 'folder', 'host', 'commit', ...settings].map((name) => make('option', { value: name }, titleOf(name))));
  group.value = view.group;
  const link = $('#group-curves');
  link.hidden = !view.group;
  link.href = '/curves?' + found() + '&group=' + encodeURIComponent(view.group);
}

/** found is the address of all that this view shows. */
function found(except = []) {
  const p = new URLSearchParams({ find: '1' });
  if (view.q) p.set('q', view.q);
  for (const s of view.states) p.append('state', s);
  for (const t of view.tags) p.append('tag', t);
  if (view.kind) p.set('kind', view.kind);
  if (view.archived) p.set('archived', '1');
  for (const r of except) p.append('not', r.run);
  return p.toString();
}

/** chosen is the address of what is picked: names of a few, of many what finds them. */
function chosen() {
  const out = shown.filter((r) => !picked.has(r.run));
  if (picked.size > 60 && shown.length - out.length === picked.size && out.length <= 60) return found(out);
  return [...picked].slice(0, 500).map((r) => 'run=' + encodeURIComponent(r).replaceAll('%2F', '/').replaceAll('%3A', ':')).join('&');
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
  const some = (f) => [...rows.values()].filter(f).length;
  const kinds = [['', some((r) => !r.stage && !r.archived)], ['stages', some((r) => r.stage && !r.archived)], ['archived', some((r) => r.archived)]].filter(([k, n]) => !k || n);
  const kind = view.archived ? 'archived' : view.kind;
  const box = $('#kinds'), key = JSON.stringify([kinds, kind]);
  if (box.key_ !== key) {
    box.key_ = key;
    box.replaceChildren(...(kinds.length < 2 && !kind ? [] : kinds).map(([k, n]) => make('button', { type: 'button', className: 'chip', 'aria-pressed': String(k === kind), data: { test: 'kind-' + (k || 'trainings') },
      onclick: () => { view.kind = k === 'stages' ? k : ''; view.archived = k === 'archived'; changed(); } }, say('runs.kind.' + (k || 'trainings')) + ' ' + n)));
  }
  put($('#tags'), tags, view.tags, (t) => '# ' + t);
}

function bar() {
  const box = $('#picked');
  for (const name of [...picked]) if (!rows.has(name)) picked.delete(name);
  box.hidden = picked.size === 0;
  const all = $('#pick-all');
  all.checked = shown.length > 0 && shown.every((r) => picked.has(r.run));
  all.indeterminate = !all.checked && picked.size > 0;
  const query = chosen(), first = rows.get([...picked][0]);
  const key = picked.size + query + view.group + first?.archived;
  if (box.key_ === key) return;
  box.key_ = key;
  const button = (word, test, f) => make('button', { type: 'button', onclick: f, data: { test } }, word);
  box.replaceChildren(make('span', { role: 'status' }, say('runs.picked', picked.size)), ' ',
    make('a', { className: 'main', href: '/curves?' + query + (view.group ? '&group=' + encodeURIComponent(view.group) : ''), data: { test: 'to-curves' } }, say('page.curves')),
    picked.size > 60 ? make('span', { className: 'faint' }, say('runs.compare.most')) : make('a', { className: 'main', href: '/compare?' + query, data: { test: 'to-compare' } }, say('page.compare')),
    ...(!acts ? [] : [
      picked.size === 1 ? button(say('runs.rename'), 'rename', rename) : '',
      button(say(first?.archived ? 'runs.unarchive' : 'runs.archive'), 'archive', () => change('archive', { runs: [...picked], archived: !first?.archived })),
      button(say('runs.delete'), 'delete', remove),
    ]),
    button(say('runs.clear'), 'clear', () => { picked.clear(); render(); }));
}

/** change asks the server for what changes runs; they are then told anew by the stream. */
async function change(what, body) {
  const answer = await ask('/api/runs/' + what, { method: 'POST', body });
  picked.clear();
  render();
  return answer;
}

/** sure asks in a dialog, with a field if there is a value to change, and resolves to it, or null. */
const sure = (text, list, ok, value) => new Promise((done) => {
  const field = value === undefined ? null : make('input', { value, maxLength: 100, 'aria-label': text, data: { test: 'sure-field' } });
  const box = make('dialog', { 'aria-label': text, onclose: () => { box.remove(); done(box.returnValue === 'ok' ? field?.value ?? '' : null); } },
    make('form', { method: 'dialog' }, make('p', {}, text), make('p', { className: 'faint names' }, list.slice(0, 20).join(', ') + (list.length > 20 ? ` + ${list.length - 20}` : '')), field,
      make('p', { className: 'tools' }, make('button', { className: 'main', value: 'ok', data: { test: 'sure' } }, ok), make('button', { value: '' }, say('runs.cancel')))));
  document.body.append(box);
  box.showModal();
  field?.select();
});

async function rename() {
  const name = [...picked][0], title = rows.get(name).title;
  const to = await sure(say('runs.rename.what'), [title], say('runs.rename'), title.split('/').at(-1));
  if (to) await change('rename', { run: name, to });
}

async function remove() {
  const list = [...picked];
  if (await sure(say('runs.delete.what', list.length), list.map((r) => rows.get(r).title), say('runs.delete')) === null) return;
  const { trash } = await change('delete', { runs: list });
  $('#told').textContent = say('runs.delete.done', trash.slice(0, 3).join(', ') + (trash.length > 3 ? ', …' : ''));
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
  const close = () => { editing = null; drawn.get(name).row_ = null; render(); $('button.edit', drawn.get(name))?.focus(); };
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
  td.replaceChildren(form);
  tags.focus();
}

function changed() {
  limit = 60;
  address.write({
    q: view.q, sort: view.sort === 'started' ? '' : view.sort, up: view.up, state: [...view.states], tag: [...view.tags], rows: '',
    kind: view.kind, archived: view.archived, group: view.group, col: view.cols ?? [],
  });
  render();
  heads();
}

function heads() {
  const line = $('#runs thead tr'), key = columns.join();
  if (line.key_ !== key) {
    line.key_ = key;
    line.replaceChildren(line.firstElementChild, ...columns.slice(1).map((name) => make('th', { className: classOf(name), title: name, data: { sort: name } }, make('button', {
      className: 'quiet head', type: 'button', onclick: () => {
        if (view.sort === name) view.up = !view.up;
        else { view.sort = name; view.up = ['run', 'state'].includes(name); }
        changed();
      },
    }, titleOf(name)))));
  }
  for (const th of $$('th[data-sort]', line)) th.setAttribute('aria-sort', view.sort !== th.dataset.sort ? 'none' : view.up ? 'ascending' : 'descending');
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
$('#q').addEventListener('input', later(60, () => { view.q = $('#q').value.trim(); changed(); }));
$('#group').addEventListener('change', () => { view.group = $('#group').value; openGroups.clear(); changed(); });
$('#filters').addEventListener('submit', (e) => e.preventDefault());
$('#pick-all').addEventListener('change', (e) => {
  for (const r of shown) e.target.checked ? picked.add(r.run) : picked.delete(r.run);
  render();
});
new IntersectionObserver((seen) => {
  if (seen.some((x) => x.isIntersecting) && shown.length > limit) { limit += 200; render(); }
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
const go = (path) => { if (picked.size) location.href = path + '?' + chosen(); else if (here()) location.href = to(path, here()); };
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

body.replaceChildren();
follow(() => '/api/runs/stream?rev=' + rev, { runs: take });
setInterval(() => { if ([...rows.values()].some((r) => r.seeds.some((s) => s.silent))) { for (const tr of drawn.values()) tr.row_ = null; render(); } }, 5000);
