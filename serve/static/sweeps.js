// The page of sweeps. The server makes its parts, in the page and again when something has changed; the script puts
// them in their place, and keeps what was opened open and what had the focus in it.
import { $, $$, follow, keys, loaded, say, when } from './kit.js';

await loaded();

/** times are written as the reader's clock has them. */
function times(within) { for (const t of $$('time', within)) t.textContent = when(t.dateTime); }

function put(name, html) {
  const box = $(`[data-part="${name}"]`);
  const open = new Set($$('details[open]', box).map((d) => d.dataset.key));
  const scrolled = $$('.scroll, pre', box).map((el) => [el.scrollLeft, el.scrollTop]);
  const all = () => $$('a, summary, [tabindex]', box);
  const at = all().indexOf(document.activeElement);
  const text = document.activeElement.textContent;
  const t = document.createElement('template');
  t.innerHTML = html;
  box.replaceChildren(t.content);
  for (const d of $$('details', box)) d.open = open.has(d.dataset.key);
  $$('.scroll, pre', box).forEach((el, i) => { [el.scrollLeft, el.scrollTop] = scrolled[i] ?? [0, 0]; });
  times(box);
  rows(box);
  if (at >= 0) (all().find((el) => el.textContent === text) ?? all()[at])?.focus({ preventScroll: true });
}

/** rows can have the focus, which the keys move. */
function rows(box) { for (const tr of $$('tr[data-row]', box)) tr.tabIndex = -1; }

let last = -1;
function move(by) {
  const list = $$('tr[data-row]');
  if (!list.length) return;
  const now = list.indexOf(document.activeElement.closest?.('tr[data-row]'));
  last = Math.min(Math.max((now >= 0 ? now : last) + by, 0), list.length - 1);
  list[last].focus();
  list[last].scrollIntoView({ block: 'nearest' });
}

keys([
  ['/', say('keys.search'), () => $('#q')?.focus()],
  ['j ↓', say('keys.row.down'), () => move(1)],
  ['k ↑', say('keys.row.up'), () => move(-1)],
  ['o', say('keys.row.open'), () => { const a = $('a', document.activeElement.closest?.('tr[data-row]') ?? document.createElement('p')); if (a) location.href = a.href; }],
  ['u', say('keys.back'), () => { location.href = '/sweeps'; }],
]);

times(document);
rows(document);
follow(() => '/api/sweeps/stream' + location.search, { sweeps: (d) => { for (const [name, html] of Object.entries(d)) put(name, html); } });
