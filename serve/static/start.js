// The form of a spec: every change is put to the server, which says what is wrong beside
// the field and which command it amounts to.
import { $, $$, ask, fault, follow, keys, loaded, make, say, short } from './kit.js';
import { jobs } from './jobs.js';

await loaded();
let sets = $$('[data-drop]').map((b) => b.dataset.drop);
const open = new Set($$('details.block[open]').map((d) => d.dataset.block));

function query() {
  const q = new URLSearchParams();
  const lang = new URLSearchParams(location.search).get('lang');
  if (lang) q.set('lang', lang);
  q.set('preset', $('#preset').value);
  for (const s of sets) q.append('set', s);
  q.set('seeds', $('#seeds').value.trim());
  if ($('#folder')) q.set('folder', $('#folder').value);
  return q;
}

let asked = 0;
async function check() {
  const q = query(), mine = ++asked;
  history.replaceState(null, '', '/start?' + q);
  let doc;
  try {
    const r = await fetch('/start?' + q, { credentials: 'same-origin' });
    doc = new DOMParser().parseFromString(await r.text(), 'text/html');
  } catch (e) { fault('form', say('error.fetch', e.message)); return false; }
  if (mine !== asked) return false;
  if (!doc.querySelector('#fields')) { fault('form', doc.querySelector('main p')?.textContent ?? ''); return false; }
  fault('form', '');
  const focus = document.activeElement?.id;
  for (const d of $$('details.block')) d.open ? open.add(d.dataset.block) : open.delete(d.dataset.block);
  for (const id of ['doc', 'state', 'fields']) $('#' + id).replaceWith(doc.querySelector('#' + id));
  for (const d of $$('details.block')) if (open.has(d.dataset.block)) d.open = true;
  if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
  find();
  return true;
}

document.addEventListener('change', (e) => {
  const path = e.target.dataset?.field;
  if (path) {
    const was = e.target.closest('.field').dataset.was, value = e.target.value.trim();
    sets = sets.filter((s) => !s.startsWith(path + '='));
    if (value !== was && value !== '') sets.push(path + '=' + value);
    check();
  } else if (e.target.id === 'preset') { sets = []; check(); } else if (['seeds', 'folder'].includes(e.target.id)) check();
});
document.addEventListener('click', (e) => {
  const drop = e.target.dataset?.drop;
  if (drop === undefined) return;
  sets = sets.filter((s) => s !== drop);
  check();
});
$('#top').addEventListener('submit', (e) => { e.preventDefault(); check(); });

// Fields by a word of their name or meaning, or only those that were changed.
function find() {
  const words = $('#find').value.toLowerCase().split(/\s+/).filter(Boolean), only = $('#only').checked;
  for (const d of $$('details.block')) {
    let some = false;
    for (const f of $$('.field', d)) {
      const text = f.textContent.toLowerCase();
      const ok = words.every((w) => text.includes(w)) && (!only || f.matches('.set, .wrong'));
      f.hidden = !ok;
      some ||= ok;
    }
    d.hidden = !some;
    if (some && (words.length || only)) d.open = true;
  }
}
$('#find').addEventListener('input', find);
$('#only').addEventListener('change', find);

const copy = $('#copy'), said = $('#said');
if (navigator.clipboard) {
  copy.hidden = false;
  copy.addEventListener('click', async () => { await navigator.clipboard.writeText($('#command').textContent); said.textContent = say('start.copied'); });
}

const go = $('#go');
if (go.dataset.allowed === 'true') {
  const watch = jobs($('#jobs'));
  go.disabled = false;
  go.addEventListener('click', async () => {
    go.disabled = true;
    said.textContent = '';
    if (await check()) {
      const folder = Number($('#folder')?.value ?? 0);
      try {
        const j = await ask('/api/control/start', { method: 'POST', body: { preset: $('#preset').value, sets, seeds: $('#seeds').value.trim(), folder } });
        said.textContent = say('start.started');
        watch(j.job);
      } catch { /* shown at the top */ }
    }
    go.disabled = false;
  });
}

// Trainings that can go on.
let rev = 0;
const rows = new Map(), list = $('#goon'), allowed = list.dataset.allowed === 'true';
follow(() => '/api/runs/stream?rev=' + rev, {
  runs: (m) => {
    rev = m.rev;
    if (m.all) rows.clear();
    for (const r of m.rows) rows.set(r.run, r);
    for (const n of m.gone) rows.delete(n);
    const can = [...rows.values()].filter((r) => ['stopped', 'killed', 'failed'].includes(r.state)).slice(0, 50);
    const key = JSON.stringify(can.map((r) => [r.run, r.state, r.step]));
    if (list.key_ === key) return;
    list.key_ = key;
    list.replaceChildren(...can.map((r) => make('li', { data: { run: r.run } }, make('a', { href: '/curves?run=' + encodeURIComponent(r.run) }, r.title), ' ',
      make('span', { className: 'state ' + r.state }, say('state.' + r.state)), ' ',
      make('small', { className: 'faint' }, short(r.step) + (r.steps ? ' / ' + short(r.steps) : '')), ' ',
      allowed ? make('button', { type: 'button', data: { test: 'go-on' }, onclick: async (e) => {
        e.target.disabled = true;
        try { await ask('/api/control/resume', { method: 'POST', body: { run: r.run } }); } catch { e.target.disabled = false; }
      } }, say('job.resume')) : make('code', {}, 'hop train --resume …/' + r.title))));
    $('#no-goon').hidden = can.length > 0;
  },
}, { show: !allowed });

keys([['/', say('start.find'), () => $('#find').focus()]]);
