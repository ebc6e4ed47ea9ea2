// Findings as they happen, audits and ladders, and the pages that they write.
import { $, ask, follow, loaded, make, say } from './kit.js';
import { jobs } from './jobs.js';

await loaded();
const box = $('#ask'), allowed = box.dataset.allowed === 'true';
const run = $('#run'), chosen = run.value;
run.addEventListener('change', () => $('#choose').requestSubmit());

// Findings.
const rows = new Map();
let seen = null;
const keyOf = (r, f) => [r.run, f.seed, f.step, f.check].join(' ');
function render() {
  const list = [...rows.values()].filter((r) => !chosen || r.run === chosen).flatMap((r) => r.findings.map((f) => ({ r, f })));
  const first = seen === null;
  const old = seen ?? new Set();
  seen = new Set(list.map(({ r, f }) => keyOf(r, f)));
  if (!first && seen.size === old.size && [...seen].every((k) => old.has(k))) return;
  $('#findings').replaceChildren(...list.slice(0, 300).map(({ r, f }) => make('li', {
    className: `finding ${f.status}` + (!first && !old.has(keyOf(r, f)) ? ' new' : ''), data: { test: 'finding' },
  }, make('span', { className: 'mark ' + f.status }, f.status), ' ', make('b', {}, f.check), ' ',
  make('a', { href: '/diagnose?run=' + encodeURIComponent(r.run) }, r.title), ' ',
  make('small', { className: 'faint' }, say('diagnose.at', f.seed, f.step)), make('br'), f.says, ' ', make('i', {}, f.next))));
  $('#found-count').textContent = String(list.length);
  $('#no-findings').hidden = list.length > 0;
}
let rev = 0;
follow(() => '/api/runs/stream?rev=' + rev, {
  runs: (m) => {
    rev = m.rev;
    if (m.all) rows.clear();
    for (const r of m.rows) rows.set(r.run, r);
    for (const n of m.gone) rows.delete(n);
    render();
  },
});

// Pages that were written.
async function pages() {
  const list = await ask('/api/pages', { quiet: true });
  const shown = new URLSearchParams(location.search).get('page');
  const box = $('#pages');
  const own = box.querySelector('a[href*="report.html"]')?.closest('li');
  box.replaceChildren(...[own, ...list.map((p) => make('li', {}, make('a', {
    href: '/diagnose?page=' + encodeURIComponent(p.file), 'aria-current': p.file === shown ? 'true' : null, data: { test: 'page' },
    onclick: (e) => { if (e.ctrlKey || e.metaKey || e.shiftKey) return; e.preventDefault(); show(p.file); },
  }, p.title), ' ', p.verdict ? make('span', { className: 'mark ' + p.verdict }, p.verdict) : '', ' ', make('small', { className: 'faint' }, p.says ?? '')))].filter(Boolean));
  $('#no-pages')?.toggleAttribute('hidden', list.length > 0);
}

function show(file) {
  const q = new URLSearchParams(location.search);
  q.set('page', file);
  history.pushState(null, '', location.pathname + '?' + q);
  const name = file.slice(file.indexOf(':') + 1);
  const src = '/page?file=' + encodeURIComponent(file);
  $('#place').replaceChildren(make('p', { className: 'tools' }, make('strong', {}, name), ' ',
    make('a', { className: 'quiet', href: src, target: '_blank', rel: 'noopener' }, say('diagnose.alone'))),
  make('iframe', { id: 'shown', className: 'shown', src, title: name, data: { test: 'shown' } }));
  for (const a of $('#pages').querySelectorAll('a')) a.toggleAttribute('aria-current', a.href.endsWith(encodeURIComponent(file)));
  $('#place').scrollIntoView({ block: 'nearest' });
}
addEventListener('popstate', () => location.reload());

// Audits and ladders.
if (allowed) {
  let states = new Map(), first = true;
  const watch = jobs($('#jobs'), (list) => {
    for (const j of list) {
      if (!first && states.get(j.job) === 'running' && j.state === 'done' && j.page) { pages().then(() => show(j.page)); }
    }
    states = new Map(list.map((j) => [j.job, j.state]));
    first = false;
  });
  const begin = (what) => async (e) => {
    e.target.disabled = true;
    try { watch((await ask('/api/control/' + what, { method: 'POST', body: { run: chosen } })).job); } catch { /* shown at the top */ }
    e.target.disabled = false;
  };
  $('#audit').addEventListener('click', begin('audit'));
  $('#ladder').addEventListener('click', begin('ladder'));
  $('#audit').disabled = $('#ladder').disabled = !chosen;
}
pages();
