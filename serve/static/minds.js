// What a seat has in mind at a step, as panels: beliefs, expectations, search, line, and what
// its world model imagined. Also the sentences that sum an episode up.
import { make, number, say } from './kit.js';
import { Board, disc, signOf } from './board.js';

const percent = (p) => (p === null || p === undefined ? '–' : p > 0 && p < 0.005 ? '<1 %' : Math.round(100 * p) + ' %');
const colours = ['--g2', '--g0', '--g4', '--g6', '--g1', '--g3', '--g5', '--g7'];

/** bars makes rows of names and shares. mark(i) says that a row is what was done. */
function bars(names, probs, { colour, mark = () => false, strongest = true } = {}) {
  const top = probs.indexOf(Math.max(...probs));
  return names.map((name, i) => {
    const bar = make('i', {});
    bar.style.transform = `scaleX(${Math.max(0, Math.min(1, probs[i] ?? 0))})`;
    const row = make('div', { className: 'row' + (strongest && i === top ? ' top' : '') + (mark(i) ? ' did' : '') },
      make('span', { className: 'name', title: name }, name), make('span', { className: 'meter', 'aria-hidden': 'true' }, bar), make('span', { className: 'pct' }, percent(probs[i])));
    row.style.setProperty('--bar', colour(i));
    return row;
  });
}

/** spark draws how probabilities moved over the episode so far. */
function spark(series, now, total, colour, label) {
  const ns = 'http://www.w3.org/2000/svg', el = document.createElementNS(ns, 'svg');
  el.setAttribute('viewBox', `0 0 ${Math.max(total, 1)} 1`); el.setAttribute('preserveAspectRatio', 'none'); el.setAttribute('class', 'spark');
  el.setAttribute('role', 'img'); el.setAttribute('aria-label', label);
  for (const [i, points] of series.entries()) {
    let d = '', pen = false;
    for (const [x, y] of points) { if (y === null) { pen = false; continue; } d += `${pen ? 'L' : 'M'}${x} ${1 - 0.94 * y - 0.03}`; pen = true; }
    const path = document.createElementNS(ns, 'path');
    path.setAttribute('d', d); path.style.stroke = colour(i);
    el.append(path);
  }
  const line = document.createElementNS(ns, 'line');
  for (const [k, v] of Object.entries({ x1: now, x2: now, y1: 0, y2: 1 })) line.setAttribute(k, v);
  el.append(line);
  return el;
}

const panel = (title, note, ...kids) => make('div', { className: 'panel' }, make('h2', {}, title), note && make('p', { className: 'note' }, note), ...kids);
const who = (head, s) => [disc(s), make('span', {}, head.seats[s].kind === 'you' ? say('join.you') : head.seats[s].name)];

/** draw fills a place with what seat has in mind at step k. e: { head, steps, regrets, pictures }. */
export function draw(place, e, seat, k, { lined, onLine }) {
  const { head, steps } = e, step = steps[k], mind = step.minds?.[seat], next = steps[k + 1];
  const parts = [];
  const regrets = e.regrets[seat], why = head.seats[seat].regret || e.unknown[seat];
  if (!mind) {
    const p = step.players[seat];
    const text = head.seats[seat].kind === 'you' ? say('theatre.yours', seat) : step.over ? say('theatre.end') : !p.alive ? say('theatre.gone', seat) : say('theatre.nothing', seat, head.seats[seat].name);
    parts.push(make('div', { className: 'panel' }, make('p', { className: 'faint' }, text)));
  }
  if (mind?.others?.length) parts.push(beliefs(e, seat, k, mind), expects(e, mind, next));
  if (mind && (mind.policy || mind.visits)) parts.push(search(e, seat, k, mind, regrets?.get(k)));
  if (mind?.line?.length) parts.push(lines(head, seat, mind, lined, onLine));
  if (head.seats[seat].world) parts.push(imagined(e, seat, k));
  parts.push(regretPanel(head, seat, k, regrets, why, e.ended));
  place.replaceChildren(...parts);
}

function beliefs(e, seat, k, mind) {
  const { head, steps } = e, lives = Math.max(steps.findLastIndex((s) => s.minds?.[seat]), 1);
  return panel(say('theatre.beliefs'), say('theatre.beliefs.note'), make('div', { className: 'others' }, mind.others.map((o) => {
    const title = make('h3', {}, who(head, o.seat));
    if (o.left) return make('div', { className: 'other' }, title, make('p', { className: 'faint' }, say('theatre.gone', o.seat)));
    const colour = (i) => `var(${colours[i % colours.length]})`;
    const series = o.names.map((name) => steps.slice(0, k + 1).map((s, t) => {
      const was = s.minds?.[seat]?.others?.find((x) => x.seat === o.seat && !x.left), i = was ? was.names.indexOf(name) : -1;
      return [t, i < 0 ? null : was.probs[i]];
    }));
    return make('div', { className: 'other', data: { of: o.seat } }, title, bars(o.names, o.probs, { colour }), spark(series, k, lives, colour, say('theatre.beliefs.note')));
  })));
}

function expects(e, mind, next) {
  const { head } = e;
  const known = mind.others.filter((o) => !o.left && o.expected?.some((p) => p > 0));
  if (!known.length) return '';
  return panel(say('theatre.expects'), say('theatre.expects.note'), make('div', { className: 'others' }, known.map((o) => {
    const order = o.expected.map((p, i) => [p, i]).filter(([p, i]) => p >= 0.01 || next?.players[o.seat].action === head.actions[i]).sort((a, b) => b[0] - a[0]).slice(0, 5);
    return make('div', { className: 'other' }, make('h3', {}, who(head, o.seat)),
      bars(order.map(([, i]) => head.actions[i]), order.map(([p]) => p), { colour: () => `var(--a${o.seat % 8})`, mark: (i) => next?.players[o.seat].action === head.actions[order[i][1]] }));
  })));
}

function search(e, seat, k, mind, regret) {
  const { head } = e, total = (mind.visits ?? []).reduce((a, b) => a + b, 0);
  const rows = head.actions.map((name, i) => ({ name, i })).filter(({ i }) => (mind.visits ? mind.visits[i] > 0 || mind.prior?.[i] > 0 : mind.policy[i] > 0));
  const share = (i) => (mind.visits ? mind.visits[i] / Math.max(total, 1) : mind.policy[i]);
  const cols = mind.searched ? ['visits', 'q', 'prior', 'policy'] : ['policy'];
  return panel(say(mind.searched ? 'theatre.search' : 'theatre.network'), mind.script ? say('theatre.script', mind.script) : mind.made ? say('theatre.made') : mind.value === undefined || mind.value === null ? '' : say('theatre.value', number(mind.value)),
    make('div', { className: 'scroll' }, make('table', { className: 'search', data: { test: 'search' } },
      make('thead', {}, make('tr', {}, make('th', {}, say('theatre.action')), make('th', {}), cols.map((c) => make('th', {}, say('theatre.' + c))), regret && make('th', { title: say('theatre.oracle.note') }, say('theatre.oracle')))),
      make('tbody', {}, rows.map(({ name, i }) => {
        const bar = make('i', {});
        bar.style.transform = `scaleX(${share(i)})`;
        return make('tr', { className: (i === mind.does ? 'does' : '') + (regret && regret.best === i ? ' best' : '') }, make('td', {}, name), make('td', {}, make('span', { className: 'meter', style: { display: 'block' } }, bar)),
          cols.map((c) => make('td', {}, c === 'visits' ? String(mind.visits[i]) : c === 'q' ? (mind.visits[i] ? number(mind.q[i]) : '–') : percent(mind[c]?.[i]))),
          regret && make('td', {}, regret.q?.[i] === null || regret.q?.[i] === undefined ? '–' : number(regret.q[i])));
      })))));
}

function lines(head, seat, mind, lined, onLine) {
  const rows = [[seat, mind.line.map((m) => m.action)], ...(mind.others ?? []).map((o, j) => [o.left ? -1 : o.seat, mind.line.map((m) => m.others?.[j] ?? -1)])]
    .filter(([s, list]) => s >= 0 && list.some((a) => a >= 0));
  return panel(say('theatre.line'), '', make('label', { className: 'faint' }, make('input', { type: 'checkbox', checked: lined, onchange: (ev) => onLine(ev.target.checked) }), ' ', say('theatre.line.show')),
    rows.map(([s, list]) => make('div', { className: 'line-row' }, disc(s), list.map((a) => make('span', { className: 'mv', title: head.actions[a] ?? '' }, a < 0 ? '' : signOf(head.actions[a]))))));
}

function imagined(e, seat, k) {
  const { head, steps, pictures } = e, next = steps[k + 1], im = next?.imagined?.[seat];
  if (!im) return steps[k].over ? panel(say('theatre.imagined'), say('theatre.imagined.last')) : '';
  const left = make('div', { className: 'board' }), right = make('div', { className: 'board' });
  const box = panel(say('theatre.imagined'), '', make('div', { className: 'pairs' },
    make('figure', { data: { test: 'imagined' } }, left, make('figcaption', {}, say('theatre.imagined.left'))), make('figure', {}, right, make('figcaption', {}, say('theatre.imagined.right')))));
  new Board(left, head, pictures, { small: true }).imagine(im, say('theatre.imagined'));
  new Board(right, head, pictures, { small: true }).show(next, { label: next.text });
  const wrong = im.wrong ?? [];
  const w = head.width, name = (x) => (x.seat >= 0 ? say('theatre.seat', x.seat) : x.name);
  box.append(make('p', { className: 'note', style: { marginTop: '.5rem' } }, wrong.length ? say('theatre.imagined.wrong', wrong.length) : say('theatre.imagined.right.all')));
  if (wrong.length) box.append(make('ul', { className: 'wrongs' }, wrong.map((x) => make('li', {}, say(x.was ? 'theatre.wrong.was' : 'theatre.wrong.not', name(x), Math.floor(x.at / w) + 1, x.at % w + 1, percent(x.p))))));
  const own = [im.rewards[seat], im.paid[seat]];
  box.append(make('p', { className: 'note' }, say('theatre.imagined.pay', number(own[0]), number(own[1]))));
  return box;
}

function regretPanel(head, seat, k, regrets, why, ended) {
  if (why) return make('p', { className: 'faint', data: { test: 'regret' } }, say('theatre.regret.unknown', why));
  if (!regrets?.size) return ended ? '' : make('p', { className: 'faint' }, say('theatre.regret.soon'));
  let sofar = 0, all = 0;
  for (const [t, r] of regrets) { all += r.loss; if (t <= k) sofar += r.loss; }
  const r = regrets.get(k);
  return panel(say('theatre.regret'), say('theatre.regret.note'), make('p', { data: { test: 'regret' } }, say('theatre.regret.sum', number(sofar), number(all)),
    r ? [make('br'), say('theatre.regret.at', k, number(r.loss), head.actions[r.best])] : null));
}

/** told says in sentences what was thought of a seat. */
export function told(e, of) {
  const { head } = e, about = (e.sums ?? []).filter((s) => s.of === of && s.steps > 0);
  if (!about.length) return [make('p', { className: 'faint' }, say('theatre.sum.none'))];
  return about.map((s) => {
    const first = s.tops[0], after = (head.goals ?? []).includes(first.name);
    const p = make('p', { className: `sum-line sum-card card s${s.by % 8}` }, disc(s.by), ' ',
      say(after ? 'theatre.sum.you' : 'theatre.sum.for', s.by, head.seats[s.by].name, first.name, first.steps, s.steps), '; ', say('theatre.sum.end', `${s.last} (${percent(s.p)})`), ' ',
      s.asked ? say('theatre.sum.right', s.right, s.asked) + ' ' : '', s.reached ? say('theatre.sum.reached', s.reached) : '');
    return p;
  });
}
