// The kit that all pages share: answers of the server with their faults shown in the
// page, streams that come back, words, colours, keyboard help.

/** The words of the reader's language, once they are there. */
let words = {};
const ready = fetch('/api/words' + languageQuery()).then((r) => r.json()).then((w) => { words = w; });

function languageQuery() {
  const lang = new URLSearchParams(location.search).get('lang');
  return lang ? '?lang=' + encodeURIComponent(lang) : '';
}

/** loaded resolves when words can be said. */
export const loaded = () => ready;

/** say returns a word; %s and %d are replaced by the arguments, in order. */
export function say(key, ...args) {
  let i = 0;
  return (words[key] ?? key).replace(/%(?:\.\d+f|[sdv])|%%/g, (m) => (m === '%%' ? '%' : String(args[i++])));
}

/** make builds an element. Properties that begin with "on" are listeners. */
export function make(tag, props = {}, ...children) {
  const ns = props.svg ? 'http://www.w3.org/2000/svg' : null;
  const el = ns ? document.createElementNS(ns, tag) : document.createElement(tag);
  for (const [k, v] of Object.entries(props)) {
    if (k === 'svg' || v === undefined || v === null || v === false) continue;
    if (k.startsWith('on')) el.addEventListener(k.slice(2), v);
    else if (k === 'style') Object.assign(el.style, v);
    else if (k === 'data') Object.assign(el.dataset, v);
    else if (k in el && !ns && !['list', 'form'].includes(k)) el[k] = v;
    else el.setAttribute(k, v === true ? '' : v);
  }
  for (const c of children.flat()) if (c !== null && c !== undefined && c !== false) el.append(c);
  return el;
}

export const $ = (selector, within = document) => within.querySelector(selector);
export const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];

/** fault shows what went wrong at the top of the page, once for each name, until it is
    shown again without a text. */
export function fault(name, text) {
  const box = $('#faults');
  let p = $(`[data-fault="${CSS.escape(name)}"]`, box);
  if (!text) { p?.remove(); return; }
  if (!p) { p = make('p', { className: 'bad', data: { fault: name } }); box.append(p); }
  if (p.textContent !== text) p.textContent = text;
}

/** key is the token of who may act, if this browser was given it; what changes something needs it. */
function key() {
  try { return localStorage.getItem('hop-act'); } catch { return null; }
}

/** ask fetches JSON. A refusal is thrown as an Error with the server's sentence, and is
    shown in the page unless quiet. */
export async function ask(url, { method = 'GET', body, quiet = false, signal } = {}) {
  const name = url.split('?')[0];
  const headers = body === undefined ? {} : { 'Content-Type': 'application/json' };
  if (method !== 'GET' && key()) headers.Authorization = 'Bearer ' + key();
  let r;
  try {
    r = await fetch(url, {
      method, signal, credentials: 'same-origin', headers,
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (e) {
    if (e.name === 'AbortError') throw e;
    const err = new Error(say('error.fetch', e.message));
    if (!quiet) fault(name, err.message);
    throw err;
  }
  let v = null;
  try { v = await r.json(); } catch { v = { error: `${r.status} ${r.statusText}` }; }
  if (!r.ok) {
    if (!quiet) fault(name, v.error);
    const err = new Error(v.error);
    err.status = r.status;
    throw err;
  }
  if (!quiet) fault(name, '');
  return v;
}

/** follow opens a stream of events and opens it again when it is lost; url may be a
    function, so that it goes on from where it was. handlers: event name -> function of
    its data. It returns what ends it. The word beside the navigation says whether the
    page is live. */
export function follow(url, handlers, { show = true } = {}) {
  let source = null, timer = 0, wait = 500, lostAt = null, ended = false;
  const open = () => {
    if (ended) return;
    source = new EventSource(typeof url === 'function' ? url() : url);
    source.onopen = () => { wait = 500; lostAt = null; if (show) live(true); };
    source.onerror = () => {
      source.close();
      if (ended) return;
      lostAt ??= new Date();
      if (show) live(false, lostAt);
      clearTimeout(timer);
      timer = setTimeout(open, wait);
      wait = Math.min(wait * 2, 10000);
    };
    for (const [name, f] of Object.entries(handlers)) source.addEventListener(name, (e) => f(JSON.parse(e.data)));
    if (!handlers.fault) source.addEventListener('fault', (e) => { fault('stream', JSON.parse(e.data).error); close(); });
  };
  const close = () => { ended = true; clearTimeout(timer); source?.close(); removeEventListener('pagehide', close); };
  // A page that is hidden for good gives its stream back at once.
  addEventListener('pagehide', close);
  open();
  return close;
}

function live(on, since) {
  const el = $('#live');
  el.className = on ? 'live on' : 'live off';
  el.textContent = on ? say('live.on') : say('live.off', since.toLocaleTimeString());
  el.title = on ? '' : say('live.off.long');
}

/** colour returns a colour of the style sheet as it is now, light or dark. */
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();

/** themed calls f when light turns to dark or back. */
export const themed = (f) => matchMedia('(prefers-color-scheme: dark)').addEventListener('change', f);

/** keys names the keys of a page and what they do: [[key, words, function]]. They do
    nothing while something is typed. The button at the top shows them. */
export function keys(list) {
  const help = make('dialog', { className: 'keys', 'aria-label': say('keys.help') });
  const rows = [...list.map(([k, text]) => [k, text]), ['?', say('keys.show')]];
  help.append(make('h2', {}, say('keys.help')),
    make('table', {}, make('tbody', {}, rows.map(([k, text]) => make('tr', {},
      make('td', {}, k.split(' ').map((x) => make('kbd', {}, x))), make('td', { className: 'left' }, text))))),
    make('form', { method: 'dialog' }, make('button', {}, say('keys.close'))));
  document.body.append(help);
  const toggle = () => (help.open ? help.close() : help.showModal());
  const button = $('#keys-button');
  button.hidden = false;
  button.addEventListener('click', toggle);
  const names = { Space: ' ', '←': 'ArrowLeft', '→': 'ArrowRight', '↑': 'ArrowUp', '↓': 'ArrowDown', Esc: 'Escape' };
  document.addEventListener('keydown', (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.isComposing) return;
    if (e.target.closest('input, select, textarea, [contenteditable]')) return;
    if (e.key === '?') { e.preventDefault(); toggle(); return; }
    if (help.open) return;
    for (const [k, , f] of list) {
      if (!f || !k.split(' ').some((x) => (names[x] ?? x) === e.key)) continue;
      if (e.key === ' ' && e.target.closest('button, a, summary')) return;
      e.preventDefault();
      f(e);
      return;
    }
  });
}

/** address reads and writes the view in the URL: what is empty is left out. */
export const address = {
  read: () => new URLSearchParams(location.search),
  write(changes, { push = false } = {}) {
    const q = new URLSearchParams(location.search);
    for (const [k, v] of Object.entries(changes)) {
      q.delete(k);
      if (Array.isArray(v)) v.forEach((x) => q.append(k, x));
      else if (v !== '' && v !== null && v !== undefined && v !== false) q.set(k, v === true ? '1' : v);
    }
    const text = q.toString().replaceAll('%3A', ':').replaceAll('%2F', '/').replaceAll('%2C', ',');
    history[push ? 'pushState' : 'replaceState'](null, '', location.pathname + (text ? '?' + text : ''));
  },
};

/** number writes a value as the server's pages do. */
export function number(x) {
  if (x === null || x === undefined || Number.isNaN(x)) return '–';
  if (!Number.isFinite(x)) return x > 0 ? '∞' : '−∞';
  const a = Math.abs(x);
  if (a !== 0 && (a < 1e-3 || a >= 1e6)) return x.toExponential(2);
  return String(Number(x.toPrecision(a >= 1000 ? 6 : 4)));
}

/** figure writes a return so that three digits can be read, as reports do. */
export function figure(x) {
  if (x === null || x === undefined || !Number.isFinite(x)) return '–';
  const a = Math.abs(x);
  return x.toFixed(a >= 100 ? 1 : a >= 10 ? 2 : 3);
}

const trim = (x) => String(Number(x.toFixed(2)));

/** short writes a count such as 150 k. */
export function short(n) {
  if (n >= 1e6) return trim(n / 1e6) + ' M';
  if (n >= 1e4) return Math.round(n / 1e3) + ' k';
  if (n >= 1e3) return trim(n / 1e3) + ' k';
  return trim(n);
}

/** apart writes the numbers of an axis so that no two read the same. */
export function apart(list, write) {
  for (let digits = -1; digits < 12; digits++) {
    const texts = list.map((x) => (x === null ? '' : digits < 0 ? write(x) : x.toFixed(digits)));
    const said = texts.filter(Boolean);
    if (new Set(said).size === said.length) return texts;
  }
  return list.map((x) => (x === null ? '' : String(x)));
}

/** seconds writes a time in the unit that suits it. */
export function seconds(x) {
  if (x >= 7200) return (x / 3600).toFixed(1) + ' h';
  if (x >= 120) return (x / 60).toFixed(1) + ' min';
  if (x >= 10) return x.toFixed(0) + ' s';
  return Number(x.toPrecision(2)) + ' s';
}

/** when writes a moment: the time of today, else the day. */
export function when(text) {
  const t = new Date(text);
  if (!text || Number.isNaN(t.getTime())) return '';
  const today = new Date().toDateString() === t.toDateString();
  return today ? t.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })
    : t.toLocaleDateString([], { year: 'numeric', month: 'short', day: 'numeric' });
}

/** later calls f once things have been quiet for a moment. */
export function later(ms, f) {
  let t = 0;
  return (...args) => { clearTimeout(t); t = setTimeout(() => f(...args), ms); };
}

/** styled applies what may not stand in the page itself (its Content-Security-Policy
    refuses style attributes): data-style="..." becomes the element's style. */
export function styled(within = document) {
  for (const el of $$('[data-style]', within)) { el.style.cssText = el.dataset.style; el.removeAttribute('data-style'); }
}
styled();
