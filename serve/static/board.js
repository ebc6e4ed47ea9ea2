// Boards as SVG: what stands where, who came from where, what was earned, lines that are
// expected, and boards that are imagined. Shapes are those of the films (play/shape.go), in
// units of half a cell.
import { make } from './kit.js';

const svg = (tag, props = {}, ...kids) => make(tag, { svg: true, ...props }, ...kids);

const stagSide = (m) => `M${m * 0.18} -.1C${m * 0.85} -.2 ${m * 0.8} -.65 ${m * 0.62} -.98M${m * 0.52} -.24Q${m * 0.4} -.45 ${m * 0.3} -.85M${m * 0.7} -.45Q${m * 0.95} -.5 ${m} -.8`;
const shapes = {
  block: '<rect class="c" x="-1.14" y="-1.14" width="2.28" height="2.28" rx=".25"/><rect class="w" opacity=".12" x="-1.14" y="-1.14" width="2.28" height="1.8" rx=".25"/>',
  stag: `<path class="dks" stroke-width=".14" d="${stagSide(1)}${stagSide(-1)}"/><ellipse class="c" rx=".26" ry=".12" transform="translate(.48 .1) rotate(20)"/><ellipse class="c" rx=".26" ry=".12" transform="translate(-.48 .1) rotate(-20)"/><path class="c" d="M-.34 -.08Q0 -.28 .34 -.08C.38 .3 .22 .5 .2 .75Q0 1.08 -.2 .75C-.22 .5 -.38 .3 -.34 -.08Z"/><ellipse class="dk" cy=".8" rx=".14" ry=".1"/><circle class="w" cx="-.17" cy=".18" r=".07"/><circle class="w" cx=".17" cy=".18" r=".07"/>`,
  hare: '<g transform="translate(-.24 -.36) rotate(-9)"><ellipse class="c" rx=".19" ry=".58"/><ellipse class="lt" cy=".03" rx=".08" ry=".4"/></g><g transform="translate(.24 -.36) rotate(9)"><ellipse class="c" rx=".19" ry=".58"/><ellipse class="lt" cy=".03" rx=".08" ry=".4"/></g><ellipse class="c" cy=".42" rx=".52" ry=".46"/><ellipse class="lt" cy=".6" rx=".25" ry=".2"/><circle class="k" cx="-.21" cy=".33" r=".075"/><circle class="k" cx=".21" cy=".33" r=".075"/><ellipse class="k" cy=".53" rx=".08" ry=".06"/>',
  drift: '<path class="w" d="M-.95 .65C-.85 .1 -.55 .05 -.4 .1C-.25 -.6 .35 -.6 .45 0C.7 -.1 .9 .2 .95 .65Z"/><path class="cs" stroke-width=".1" d="M-.95 .65C-.85 .1 -.55 .05 -.4 .1C-.25 -.6 .35 -.6 .45 0C.7 -.1 .9 .2 .95 .65Z"/><ellipse class="lt" cx="-.1" cy=".48" rx=".6" ry=".09"/><circle class="c" cx="-.6" cy="-.5" r=".1"/><circle class="c" cx=".7" cy="-.6" r=".1"/><circle class="c" cx="-.1" cy="-.85" r=".1"/>',
  coin: '<circle class="c" r=".8"/><circle class="lts" r=".58" stroke-width=".1"/>',
  apple: '<path class="dks" stroke-width=".12" d="M0 -.35Q.02 -.7 .16 -.86"/><ellipse fill="#8fae6b" rx=".26" ry=".12" transform="translate(.36 -.62) rotate(-29)"/><path class="c" d="M0 -.36C.35 -.62 .85 -.4 .78 .15C.72 .65 .35 .95 0 .8C-.35 .95 -.72 .65 -.78 .15C-.85 -.4 -.35 -.62 0 -.36Z"/>',
  waves: '<path class="cs" opacity=".65" stroke-width=".08" d="M-.75 -.45q.2 -.25 .4 0q.2 .25 .4 0M-.15 .1q.2 -.25 .4 0q.2 .25 .4 0M-.75 .6q.2 -.25 .4 0q.2 .25 .4 0"/>',
  waste: '<circle class="c" cx="-.45" cy="-.35" r=".26"/><circle class="c" cx=".4" cy="-.5" r=".16"/><circle class="c" cx=".3" cy=".3" r=".3"/><circle class="c" cx="-.5" cy=".5" r=".17"/>',
  grass: '<path class="cs" stroke-width=".08" d="M-.5 -.3l-.09 -.22M-.5 -.3l.09 -.22M.45 -.5l-.09 -.22M.45 -.5l.09 -.22M.1 .5l-.09 -.22M.1 .5l.09 -.22M-.55 .65l-.09 -.22M-.55 .65l.09 -.22M.65 .4l-.09 -.22M.65 .4l.09 -.22"/>',
};
const drawnAs = {
  block: 'block', wall: 'block', stag: 'stag', hare: 'hare', drift: 'drift', snow: 'drift', coin: 'coin', apple: 'apple', food: 'apple', berry: 'apple',
  river: 'waves', water: 'waves', waste: 'waste', dirt: 'waste', polluted: 'waste', orchard: 'grass', grass: 'grass',
};
/** number is a seat's on its disc, smaller where it has two digits. */
const number = (s) => svg('text', { 'font-size': s > 9 ? 1 : 1.25 }, `${s}`);

/** thing draws a thing around (x, y), r to each side. */
export function thing(pic, x, y, r, opacity = 1) {
  const g = svg('g', { class: 'thing', transform: `translate(${x} ${y}) scale(${r})`, opacity: opacity < 1 ? opacity : undefined });
  g.style.setProperty('--f', pic.fill);
  const shape = shapes[drawnAs[pic.kind]];
  if (shape) g.innerHTML = shape;
  else g.append(svg('rect', { class: 'lt', x: -0.85, y: -0.85, width: 1.7, height: 1.7, rx: 0.3 }), svg('text', { class: 'c', 'font-size': 1.1 }, pic.sign + (pic.level ?? '')));
  if (shape && pic.level && ['coin', 'apple'].includes(drawnAs[pic.kind])) g.append(svg('text', { class: 'w', y: drawnAs[pic.kind] === 'apple' ? 0.2 : 0, 'font-size': 0.8 }, pic.level));
  g.append(svg('title', {}, pic.word + (pic.level ?? '')));
  return g;
}

/** pack returns the places of n discs in a box, in rows of equal discs that do not touch. */
function pack(n, x, y, w, h) {
  let best = 0, cols = 1;
  for (let c = 1; c <= n; c++) { const r = Math.min(w / c, h / Math.ceil(n / c)); if (r >= best) { best = r; cols = c; } }
  const rows = Math.ceil(n / cols), r = Math.min(best / 2 * 0.88, Math.max(w, h) * 0.33);
  return Array.from({ length: n }, (_, i) => {
    const row = Math.floor(i / cols), inRow = Math.min(cols, n - row * cols);
    return [x + w / 2 + best * (i % cols - (inRow - 1) / 2), y + h / 2 + best * (row - (rows - 1) / 2), r];
  });
}

const moves = { up: [0, -1], down: [0, 1], left: [-1, 0], right: [1, 0] };
export const moveOf = (name) => moves[name?.split(' ').at(-1)] ?? null;
const signs = { up: '↑', down: '↓', left: '←', right: '→', stay: '·' };
export const signOf = (name) => signs[name?.split(' ').at(-1)] ?? name?.split(' ').map((w) => w[0]).join('') ?? '';

/** Board is one drawing; show draws a step on it. */
export class Board {
  constructor(place, head, pictures, { small = false, mine = -1 } = {}) {
    Object.assign(this, { place, head, pictures, small, mine, seats: new Map() });
    place.replaceChildren();
    if (!head.height) { this.words = make('div', { className: 'words' }); place.append(this.words); return; }
    this.c = 40;
    this.w = head.width; this.h = head.height;
    this.root = svg('svg', { viewBox: `0 0 ${this.w * this.c} ${this.h * this.c}`, role: 'img' });
    const tiles = svg('g');
    for (let i = 0; i < this.w * this.h; i++) {
      const x = i % this.w, y = Math.floor(i / this.w);
      tiles.append(svg('rect', { class: (x + y) % 2 ? 'tile odd' : 'tile', x: x * this.c, y: y * this.c, width: this.c + 0.5, height: this.c + 0.5 }));
    }
    this.under = svg('g'); this.over = svg('g'); this.top = svg('g');
    this.root.append(tiles, this.under, this.over, this.top);
    place.append(this.root);
  }

  mid(at) { return [(at % this.w + 0.5) * this.c, (Math.floor(at / this.w) + 0.5) * this.c]; }

  /** show draws a step. options: line (what a mind expects), eyes (a seat, beyond whose view it
      is dim), label (words for who cannot see it). */
  show(step, { line, eyes = -1, label = '' } = {}) {
    if (this.words) { this.words.textContent = step.words ?? ''; return; }
    const c = this.c;
    this.under.replaceChildren(); this.top.replaceChildren();
    this.root.setAttribute('aria-label', label);
    const placed = new Map();
    const left = new Map(); // cell -> seats that left there a moment ago
    step.players.forEach((p, s) => {
      if (p.left && step.step - p.left < 3 && p.at >= 0) left.set(p.at, [...(left.get(p.at) ?? []), s]);
    });
    for (const [at, list] of left) {
      const [x, y] = this.mid(at);
      this.under.append(svg('rect', { x: x - c / 2 + 2, y: y - c / 2 + 2, width: c - 4, height: c - 4, rx: c * 0.18, fill: '#1b7f4b', opacity: 0.28 - 0.08 * (step.step - step.players[list[0]].left) }));
    }
    for (const cell of step.cells ?? []) this.things(cell, left.get(cell.at) ?? [], placed);
    step.players.forEach((p, s) => { // trails lie under seats
      if (p.left || p.at < 0 || p.from < 0 || p.at === p.from || this.small) return;
      const [x, y] = this.mid(p.at), [fx, fy] = this.mid(p.from);
      if (Math.abs(x - fx) + Math.abs(y - fy) > c * 1.01) return;
      this.under.append(svg('path', { class: `trail s${s % 8}`, 'stroke-width': c * 0.09, d: `M${fx} ${fy}L${x} ${y}` }));
    });
    for (const [at, list] of left) {
      if ((step.cells ?? []).some((x) => x.at === at && x.seats?.length)) continue;
      const [x, y] = this.mid(at);
      pack(list.length, x - c / 2, y, c, c / 2).forEach(([px, py, r], i) => placed.set(list[i], [px, py, r, true]));
    }
    this.discs(placed, step);
    if (!this.small) this.earned(step, placed);
    if (line) this.line(line, step);
    if (eyes >= 0 && this.head.view > 0) this.fog(step.players[eyes].at);
  }

  things(cell, left, placed) {
    const c = this.c, [mx, my] = this.mid(cell.at), x = mx - c / 2, y = my - c / 2;
    const pics = (cell.things ?? []).map((n) => this.pictures[n]).filter(Boolean);
    for (const p of pics.filter((p) => p.flat || drawnAs[p.kind] === 'block')) {
      if (p.ground) { const r = svg('rect', { class: p.kind === 'block' || p.kind === 'wall' ? 'ground solid' : 'ground', x, y, width: c + 0.5, height: c + 0.5 }); r.style.setProperty('--g', p.ground); this.under.append(r); }
      this.under.append(thing(p, mx, my, c / 2 * (p.flat ? 1 : 0.84)));
    }
    const solid = pics.filter((p) => !p.flat && drawnAs[p.kind] !== 'block');
    const crowd = (cell.seats ?? []).length > 0 || left.length > 0;
    solid.forEach((p, i) => {
      const share = c / solid.length, r = Math.min(share, c) / 2 * 0.84;
      this.under.append(thing(p, x + share * (i + 0.5), crowd ? y + c * 0.29 : my, crowd ? Math.min(r, c * 0.27) : r));
    });
    const top = solid.length ? 0.5 : 0;
    pack((cell.seats ?? []).length, x, y + top * c, c, (1 - top) * c).forEach((at, i) => placed.set(cell.seats[i], [...at, false]));
  }

  /** discs keeps one node a seat, so that it moves. */
  discs(placed, step) {
    for (const [s, g] of this.seats) if (!placed.has(s)) { g.remove(); this.seats.delete(s); }
    for (const [s, [x, y, r, gone]] of [...placed].sort((a, b) => a[0] - b[0])) {
      let g = this.seats.get(s);
      if (!g) {
        g = svg('g', {}, svg('circle', { class: 'body', r: 1, 'stroke-width': 0.14 }), number(s), svg('title', {}, `${s}: ${this.head.seats[s].name}`));
        this.seats.set(s, g); this.over.append(g);
      }
      g.setAttribute('class', `seat s${s % 8}${gone ? ' gone' : ''}${s === this.mine ? ' mine' : ''}`);
      g.setAttribute('opacity', gone ? 1 - 0.3 * (step.step - step.players[s].left) : 1);
      g.style.transform = `translate(${x}px, ${y}px) scale(${r})`;
    }
  }

  /** earned draws what each got above itself, in its colour. */
  earned(step, placed) {
    for (const [s, p] of step.players.entries()) {
      const at = placed.get(s);
      if (!p.reward || !at) continue;
      const text = (p.reward > 0 ? '+' : '−') + String(Number(Math.abs(p.reward).toPrecision(3))), w = text.length * 6.4 + 8;
      const x = Math.max(0, Math.min(at[0] - w / 2, this.w * this.c - w)), y = Math.max(at[1] - at[2] - 10, 0);
      this.top.append(svg('g', { class: `bubble s${s % 8}${p.reward < 0 ? ' loss' : ''}`, 'data-seat': s }, svg('rect', { x, y, width: w, height: 14, rx: 7 }),
        svg('text', { x: x + w / 2, y: y + 7.4, 'font-size': 10.5 }, text)));
    }
  }

  /** line draws the steps that a mind expects, its own thick and the others' thin. */
  line({ seat, mind }, step) {
    const blocked = new Set((step.cells ?? []).filter((x) => (x.things ?? []).some((n) => drawnAs[this.pictures[n]?.kind] === 'block')).map((x) => x.at));
    const walk = (s, actions, own) => {
      let at = step.players[s].at;
      if (at < 0 || !actions.length) return;
      const off = own ? 0 : (s % 4 - 1.5) * 2.4;
      const pts = [this.mid(at)];
      let does = null;
      for (const k of actions) {
        if (k < 0 || does) break;
        const m = moveOf(this.head.actions[k]);
        if (!m) { if (!/stay/.test(this.head.actions[k])) does = this.head.actions[k]; continue; }
        const x = at % this.w + m[0], y = Math.floor(at / this.w) + m[1], to = y * this.w + x;
        if (x < 0 || y < 0 || x >= this.w || y >= this.h || blocked.has(to)) continue;
        at = to; pts.push(this.mid(at));
      }
      const cls = `s${s % 8}` + (own ? '' : ' other');
      const p = pts.map(([x, y]) => [x + off, y + off]);
      if (p.length > 1) {
        this.under.append(svg('path', { class: 'plan ' + cls, 'stroke-width': own ? 2.2 : 1.4, 'stroke-dasharray': own ? undefined : '3 3', d: 'M' + p.map((q) => q.join(' ')).join('L') }));
        const [x, y] = p.at(-1), [fx, fy] = p.at(-2), a = Math.atan2(y - fy, x - fx) * 180 / Math.PI;
        this.top.append(svg('path', { class: 'plan-end ' + cls, opacity: own ? 1 : 0.6, transform: `translate(${x} ${y}) rotate(${a}) scale(${own ? 0.75 : 0.55})`, d: 'M6 0L-4 -5L-4 5Z' }));
      }
      if (does) { const [x, y] = p.at(-1); this.top.append(svg('circle', { class: 'plan-ring ' + cls, cx: x, cy: y, r: this.c * 0.44, 'stroke-width': own ? 2.2 : 1.2, 'stroke-dasharray': own ? undefined : '3 3', opacity: own ? 0.9 : 0.5 }, svg('title', {}, does))); }
    };
    (mind.others ?? []).forEach((o, j) => { if (!o.left) walk(o.seat, mind.line.map((m) => m.others?.[j] ?? -1), false); });
    walk(seat, mind.line.map((m) => m.action), true);
  }

  fog(at) {
    if (at < 0) return;
    const v = this.head.view, ax = at % this.w, ay = Math.floor(at / this.w);
    for (let i = 0; i < this.w * this.h; i++) {
      const x = i % this.w, y = Math.floor(i / this.w);
      if (Math.max(Math.abs(x - ax), Math.abs(y - ay)) > v) this.top.append(svg('rect', { class: 'fog', x: x * this.c, y: y * this.c, width: this.c, height: this.c }));
    }
  }

  /** imagine draws what a world model holds likely, as dark as that, and marks where it was wrong. */
  imagine(im, label) {
    if (this.words) return;
    const c = this.c;
    this.under.replaceChildren(); this.over.replaceChildren(); this.top.replaceChildren(); this.seats.clear();
    this.root.setAttribute('aria-label', label);
    for (const cell of im.cells) {
      const [mx, my] = this.mid(cell.at), x = mx - c / 2, y = my - c / 2;
      const things = (cell.things ?? []).filter((t) => this.pictures[t.name]);
      for (const t of things.filter((t) => this.pictures[t.name].flat || drawnAs[this.pictures[t.name].kind] === 'block')) this.under.append(thing(this.pictures[t.name], mx, my, c / 2 * 0.9, t.p));
      const solid = things.filter((t) => !this.pictures[t.name].flat && drawnAs[this.pictures[t.name].kind] !== 'block');
      const crowd = (cell.seats ?? []).length > 0;
      solid.forEach((t, i) => { const share = c / solid.length; this.under.append(thing(this.pictures[t.name], x + share * (i + 0.5), crowd ? y + c * 0.29 : my, Math.min(share / 2 * 0.84, crowd ? c * 0.27 : c), t.p)); });
      const top = solid.length ? 0.5 : 0;
      pack((cell.seats ?? []).length, x, y + top * c, c, (1 - top) * c).forEach(([px, py, r], i) => {
        const s = cell.seats[i];
        this.over.append(svg('g', { class: `seat s${s.seat % 8}`, opacity: Math.max(s.p, 0.12), transform: `translate(${px} ${py}) scale(${r})` }, svg('circle', { class: 'body', r: 1 }), number(s.seat), svg('title', {}, `${s.seat}: ${Math.round(100 * s.p)} %`)));
      });
    }
    for (const at of new Set((im.wrong ?? []).map((w) => w.at))) {
      const [x, y] = this.mid(at);
      this.top.append(svg('rect', { class: 'off', x: x - c / 2 + 1.5, y: y - c / 2 + 1.5, width: c - 3, height: c - 3, rx: 5, 'stroke-width': 2.4 }), svg('path', { class: 'off-x', 'stroke-width': 2.2, d: `M${x + c / 2 - 11} ${y - c / 2 + 5}l6 6m0 -6l-6 6` }));
    }
  }
}

/** disc is a seat's sign in words. */
export const disc = (s, left = false) => make('i', { className: `disc s${s % 8}${left ? ' left' : ''}`, 'aria-hidden': 'true' }, `${s}`);

/** legend names the things that have been seen. */
export function legend(pictures) {
  const seen = new Map();
  for (const p of Object.values(pictures)) if (!seen.has(p.word)) seen.set(p.word, p);
  return make('div', { className: 'legend-row' }, [...seen.values()].map((p) => {
    const s = svg('svg', { viewBox: '-1.2 -1.2 2.4 2.4', 'aria-hidden': 'true' }, thing({ ...p, level: '' }, 0, 0, 1));
    return make('span', {}, s, p.word);
  }));
}
