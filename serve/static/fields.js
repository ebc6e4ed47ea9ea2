// What the list says of a training: what can be a column, searched, and grouped by. Where a page
// is asked for all that a search finds, serve/runs/choose.go chooses by the same rules.
import { seconds, when } from './kit.js';

export const natural = new Intl.Collator('en', { numeric: true }); // 2 before 10

/** fields of a run besides its settings: what each is, to sort and group by, and how it is written. */
export const fields = {
  preset: { of: (r) => r.preset }, game: { of: (r) => r.game ?? '' }, state: { of: (r) => r.state }, tags: { of: (r) => r.tags.join(', ') },
  folder: { of: (r) => r.title.split('/').slice(0, -1).join('/') || '.' }, host: { of: (r) => r.host ?? '' }, commit: { of: (r) => r.commit ?? '' },
  duration: { of: (r) => r.wall || -1, text: (r) => (r.wall ? seconds(r.wall) : ''), number: true },
  last: { of: (r) => r.last, text: (r) => (r.last.startsWith('0001') ? '' : when(r.last)) },
};

/** what is shown of a field, or of a setting by its path. */
export const textOf = (name, r) => (fields[name] ? (fields[name].text ?? fields[name].of)(r) : r.settings[name] ?? '');

/** settings in which runs differ: those of most runs first. */
export function settingsOf(rows) {
  const count = new Map();
  for (const r of rows) for (const path in r.settings) count.set(path, (count.get(path) ?? 0) + 1);
  return [...count.keys()].sort((a, b) => count.get(b) - count.get(a) || natural.compare(a, b));
}

/** the last word of a setting's path, unless another setting has the same. */
export function shortName(path, all) {
  const last = path.split('.').at(-1);
  return all.some((p) => p !== path && p.split('.').at(-1) === last) ? path : last;
}

const words = new WeakMap(); // row -> what is searched

function searched(r) {
  let text = words.get(r);
  if (text === undefined) {
    text = [r.title, r.preset, r.game, r.note, r.state, r.host, r.commit, ...r.tags, ...Object.entries(r.settings).map((e) => e.join('='))].join(' ').toLowerCase();
    words.set(r, text);
  }
  return text;
}

/** whether a run is one of a view. */
export function matches(r, view) {
  if (!!r.stage !== (view.kind === 'stages') || !!r.archived !== view.archived) return false;
  if (view.states.size && !view.states.has(r.state)) return false;
  for (const t of view.tags) if (!r.tags.includes(t)) return false;
  return !view.q || view.q.toLowerCase().split(/\s+/).every((w) => searched(r).includes(w) || holds(r, w));
}

/** whether a word such as lr<0.01 or steps>=2e4 is true of a run's settings, its score or how long it took. */
function holds(r, word) {
  const m = /^([\w.]+)(<=|>=|<|>|=)(.+)$/.exec(word);
  if (!m) return false;
  const [, name, sign, text] = m;
  const found = Object.entries(r.settings).filter(([path]) => ('.' + path.toLowerCase()).endsWith('.' + name)).map(([, value]) => value);
  if (name === 'score') found.push(r.mean);
  if (name === 'duration') found.push(r.wall);
  return found.some((value) => {
    const x = Number(value), y = Number(text);
    if (value === null || Number.isNaN(x) || Number.isNaN(y)) return sign === '=' && String(value).toLowerCase() === text;
    return { '<': x < y, '>': x > y, '<=': x <= y, '>=': x >= y, '=': x === y }[sign];
  });
}

/** runs by what a field says of them: [[value, runs]], in its order. */
export function grouped(list, name) {
  const groups = new Map();
  for (const r of list) {
    const value = textOf(name, r);
    if (!groups.has(value)) groups.set(value, []);
    groups.get(value).push(r);
  }
  const size = (v) => (v === '' ? NaN : Number(v));
  return [...groups].sort(([a], [b]) => (Number.isNaN(size(a)) || Number.isNaN(size(b)) ? natural.compare(a, b) : size(a) - size(b)));
}

/** what the seeds of some runs come to: how many are scored, their mean and Student's 95 % interval. Returns of different games have no mean. */
export function summary(list) {
  const scored = list.filter((r) => r.mean !== null);
  const xs = scored.flatMap((r) => r.seeds).map((s) => s.mean).filter((x) => x !== null && x !== undefined);
  const n = xs.length, games = new Set(scored.map((r) => r.rules)).size;
  if (!n || games > 1) return { n, games, mean: null, ci: null };
  const mean = xs.reduce((a, x) => a + x, 0) / n;
  const se = Math.sqrt(xs.reduce((a, x) => a + (x - mean) ** 2, 0) / (n - 1) / n), t = student(n - 1);
  return { n, games, mean, ci: n > 1 ? [mean - t * se, mean + t * se] : null };
}

const quantiles = [12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.306, 2.2622, 2.2281, 2.201, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.093, 2.086];

/** Student's quantile for 95 %; from 21 on by its series in 1/df, true to four digits. */
export const student = (df) => quantiles[df - 1] ?? 1.959964 + 2.372272 / df + 2.822499 / df ** 2 + 2.555850 / df ** 3;
