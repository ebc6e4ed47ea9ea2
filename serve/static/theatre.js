// The theatre: an episode that is played on the server, stepped and scrubbed, with what everybody
// has in mind. What is shown is in the address, down to the step.
import { $, $$, address, fault, number, follow, keys, loaded, make, say } from './kit.js';
import { Board, disc, legend } from './board.js';
import { draw, told } from './minds.js';
import { prepare } from './ask.js';

await loaded();
prepare(true);
const form = $('#ask'), query = form.dataset.query;
const e = { head: null, steps: [], regrets: [], unknown: [], pictures: {}, sums: null, ended: false };
const q = address.read();
let k = Number(q.get('step')) || 0, seat = q.has('mind') ? Number(q.get('mind')) : -1, lined = q.get('line') !== '0';
let board = null, timer = 0, wanted = k, speed = 1, queued = 0;

if (form.dataset.ready === 'true' && $('#stage')) start();

function start() {
  const stop = follow('/api/theatre/stream?' + query, {
    begin: () => {},
    head: (h) => { // also when a lost stream begins again
      Object.assign(e, { head: h, steps: [], regrets: h.seats.map(() => new Map()), unknown: [], sums: null, ended: false });
      board = null;
    },
    step: (s) => {
      e.steps[s.step] = s;
      Object.assign(e.pictures, s.pictures ?? {});
      if (s.step === 0) open();
      if (s.step === wanted && k !== wanted) k = wanted;
      update();
    },
    sums: (s) => { e.sums = s; update(); },
    regret: (r) => { if (r.why) e.unknown[r.seat] = r.why; else e.regrets[r.seat].set(r.step, r); update(); },
    end: () => { e.ended = true; stop(); update(); },
    fault: (f) => { stop(); e.ended = true; $('#waiting')?.remove(); fault('theatre', e.steps.length ? say('theatre.broken', f.error) : f.error); update(); },
  }, { show: false });
}

/** crowd is how many are too many for a button each. */
const crowd = 9;

/** open shows the stage once there is a first step. */
function open() {
  const many = e.head.seats.length >= crowd;
  if (innerWidth < 640 || many) $('#asking').open = false;
  $('#stage').classList.toggle('many', many);
  $('#waiting')?.remove();
  $('#stage').hidden = false;
  board = new Board($('#board'), e.head, e.pictures, { mine: e.head.human });
  if (seat < 0 || seat >= e.head.seats.length) {
    const minds = e.steps[0].minds ?? [];
    seat = e.head.human >= 0 ? minds.findIndex(Boolean) : minds.findIndex((m) => m?.searched);
    if (seat < 0) seat = Math.max(minds.findIndex(Boolean), 0);
  }
  if (e.head.run) $('#made').textContent = ` · ${e.head.run.replace(/^\d+:/, '')} · ${say('theatre.checkpoint')} ${e.head.checkpoint}`;
  $('#textlink').href = '/theatre?' + query + '&text=1';
  const named = (s) => (s.kind === 'you' ? say('join.you') : s.name);
  const list = many ?
    [make('select', { ariaLabel: say('theatre.whose'), onchange: (ev) => choose(Number(ev.target.value)) },
      ...e.head.seats.map((s, i) => make('option', { value: i }, `${i} ${named(s)}`)))] :
    e.head.seats.map((s, i) => make('button', { className: 'whose-button', type: 'button', data: { seat: i }, onclick: () => choose(i) }, disc(i), named(s)));
  $('#whose').replaceChildren(make('span', { className: 'faint' }, say('theatre.whose')), ...list);
}

function choose(i) {
  if (i >= (e.head?.seats.length ?? 0)) return;
  seat = i;
  address.write({ mind: seat });
  update();
}

const last = () => e.steps.length - 1;

function go(to) {
  wanted = Math.max(0, to);
  k = Math.max(0, Math.min(to, last()));
  address.write({ step: k || null });
  update();
}

function playing(on) {
  clearInterval(timer); timer = 0;
  if (on) {
    if (k >= last()) go(0);
    timer = setInterval(() => { if (k >= last()) { if (e.steps[k]?.over) playing(false); return; } go(k + 1); }, 700 / speed);
  }
  $('#board').classList.toggle('moving', on && speed <= 4);
  $('#play path').setAttribute('d', timer ? 'M3 2h4v12H3zM9 2h4v12H9z' : 'M4 2v12l10-6z');
  update();
}

/** update draws once for all that came in a moment. */
function update() {
  if (queued) return;
  queued = requestAnimationFrame(() => { queued = 0; paint(); });
}

function paint() {
  if (!board || !e.steps.length) return;
  k = Math.max(0, Math.min(k, last()));
  const step = e.steps[k], mind = step.minds?.[seat], h = e.head;
  board.show(step, { line: lined && mind?.line?.length ? { seat, mind } : null, eyes: seat, label: words(step) });
  const total = e.steps.at(-1).over ? last() : `${last()}+`;
  $('#state').textContent = say('theatre.at', k, total) + (step.over ? ' · ' + say('theatre.over') : '') + (e.steps.at(-1).over || e.ended ? '' : ' · ' + say('theatre.more')) +
    (h.view > 0 && step.players[seat]?.alive ? ' · ' + say('theatre.view', seat) : '');
  const scrub = $('#scrub');
  scrub.max = last(); scrub.value = k; scrub.setAttribute('aria-valuetext', $('#state').textContent);
  marks();
  $('#players').replaceChildren(...step.players.map((p, s) => player(p, s, e.head)), legend(e.pictures));
  $('#text').textContent = step.text;
  for (const b of $$('#whose button')) b.setAttribute('aria-pressed', String(Number(b.dataset.seat) === seat));
  for (const s of $$('#whose select')) s.value = seat;
  draw($('#mind'), e, seat, k, { lined, onLine: (on) => { lined = on; address.write({ line: on ? null : '0' }); update(); } });
  const sums = $('#sums');
  if (h.human >= 0 && e.sums && !sums.childElementCount) sums.replaceChildren(...told(e, h.human));
}

/** words say for who cannot see it what a board shows. */
function words(step) { return step.text; }

export function player(p, s, head) {
  const does = p.left ? (p.with ? say('theatre.leftwith', p.with, p.left) : say('theatre.left', p.left)) : p.action || '–';
  return make('div', { className: 'player' }, disc(s, p.left > 0), make('b', {}, head.seats[s].kind === 'you' ? say('join.you') : head.seats[s].name), make('span', { className: 'does' }, does),
    make('span', { className: p.reward < 0 ? 'got loss' : 'got' }, p.reward ? (p.reward > 0 ? '+' : '') + number(p.reward) : ''), make('span', { className: 'sum', title: say('theatre.return', number(p.return)) }, number(p.return)));
}

/** marks shows below the scrubber who left when, and the regret of the shown seat. */
function marks() {
  const ns = 'http://www.w3.org/2000/svg', place = $('#marks'), n = Math.max(last(), 1), W = place.clientWidth - 16 || 400;
  const el = (tag, props, text) => { const x = document.createElementNS(ns, tag); for (const [a, b] of Object.entries(props)) x.setAttribute(a, b); if (text !== undefined) x.textContent = text; return x; };
  const x = (t) => t / n * W, kids = [el('line', { class: 'base', x1: 0, x2: W, y1: 32, y2: 32 })];
  const stack = new Map();
  e.steps.at(-1).players.forEach((p, s) => {
    if (!p.left) return;
    const i = stack.get(p.left) ?? 0;
    stack.set(p.left, i + 1);
    const g = el('g', { class: `s${s % 8}` });
    g.append(el('circle', { class: 'gone', cx: x(p.left) + i * 11, cy: 7, r: 6 }), el('text', { x: x(p.left) + i * 11, y: 7.5 }, s), el('title', {}, p.with ? say('theatre.leftwith', p.with, p.left) : say('theatre.left', p.left)));
    kids.push(g);
  });
  const regrets = e.regrets[seat], w = Math.max(2, Math.min(10, W / n * 0.7));
  let most = 0.5;
  for (const r of regrets?.values() ?? []) most = Math.max(most, r.loss);
  for (const [t, r] of regrets ?? []) {
    const tall = r.loss > 1e-6 ? Math.max(2, 15 * r.loss / most) : 1.5;
    const bar = el('rect', { class: r.loss > 1e-6 ? 'loss' : 'noloss', x: x(t) - w / 2, y: 32 - tall, width: w, height: tall, 'data-test': 'loss' });
    bar.append(el('title', {}, say('theatre.regret.at', t, number(r.loss), e.head.actions[r.best])));
    kids.push(bar);
  }
  e.steps.forEach((s, t) => { const got = s.players[seat]?.reward; if (got) { const bar = el('rect', { class: `pay s${seat % 8}`, x: x(t) - w / 2, y: got > 0 ? 34 : 34, width: w, height: 10, rx: 2 }); bar.append(el('title', {}, (got > 0 ? '+' : '') + number(got))); kids.push(bar); } });
  kids.push(el('line', { class: 'now', x1: x(k), x2: x(k), y1: 0, y2: 46 }));
  const svg = el('svg', { viewBox: `0 0 ${W} 46`, role: 'img', 'aria-label': say('theatre.regret') });
  svg.append(...kids);
  svg.addEventListener('click', (ev) => { const r = svg.getBoundingClientRect(); go(Math.round((ev.clientX - r.left) / r.width * n)); });
  place.replaceChildren(svg);
}

const bind = { first: () => go(0), back: () => go(k - 1), forward: () => go(k + 1), last: () => go(last()), play: () => playing(!timer) };
for (const [id, f] of Object.entries(bind)) $('#' + id)?.addEventListener('click', () => { if (id !== 'play') playing(false); f(); });
$('#scrub')?.addEventListener('input', (ev) => { playing(false); go(Number(ev.target.value)); });
$('#speed')?.addEventListener('change', (ev) => { speed = Number(ev.target.value); if (timer) playing(true); });
const faster = (by) => { const s = $('#speed'), i = Math.max(0, Math.min(s.options.length - 1, s.selectedIndex + by)); s.selectedIndex = i; speed = Number(s.value); if (timer) playing(true); };
if ($('#stage')) {
  keys([
    ['Space', say('theatre.play'), () => playing(!timer)], ['←', say('theatre.back'), () => { playing(false); go(k - 1); }], ['→', say('theatre.forward'), () => { playing(false); go(k + 1); }],
    ['Home', say('theatre.first'), () => { playing(false); go(0); }], ['End', say('theatre.last'), () => { playing(false); go(last()); }],
    ['+ -', say('theatre.key.speed'), (ev) => faster(ev.key === '+' ? 1 : -1)], ['0 1 2 3 4 5 6 7', say('theatre.key.mind'), (ev) => choose(Number(ev.key))],
  ]);
}
addEventListener('resize', update);
addEventListener('popstate', () => { const p = address.read(); go(Number(p.get('step')) || 0); });
