// Jobs that the server started: their list, live, with what one of them says.
import { $, ask, follow, make, say } from './kit.js';

/** jobs shows those of the kinds that the box names; changed is called with the list when
    it has changed. It returns what shows a job's output. */
export function jobs(box, changed = () => {}) {
  const kinds = box.dataset.kinds.split(',');
  let watching = box.dataset.watching || '', at = 0, text = '', close = null, list = [];
  const cards = new Map();

  async function post(what, body, button) {
    button.disabled = true;
    try { await ask('/api/control/' + what, { method: 'POST', body }); } catch { /* shown at the top */ }
    button.disabled = false;
  }

  function card(j) {
    const running = j.state === 'running';
    const parts = [make('div', { className: 'row' },
      make('span', { className: 'state ' + j.state, data: { test: 'job-state' } }, say(running && j.asked ? 'job.stopping' : 'job.' + j.state)),
      make('b', {}, say('job.kind.' + j.kind)),
      j.run ? make('a', { href: '/curves?run=' + encodeURIComponent(j.run).replaceAll('%2F', '/').replaceAll('%3A', ':'), data: { test: 'job-run' } }, j.title) : null,
      make('small', { className: 'faint' }, new Date(j.started).toLocaleString() + (j.pid ? ' · ' + say('job.pid', j.pid) : '')),
      make('span', { className: 'grow' }),
      running ? make('button', { type: 'button', data: { test: 'stop' }, onclick: (e) => post('stop', { job: j.job }, e.target), title: say(j.asked ? 'job.stop.again' : 'job.stop.what') }, say(j.asked ? 'job.stop.now' : 'job.stop')) : null,
      !running && j.state !== 'done' && j.run && list.find((x) => x.run === j.run) === j && (j.kind === 'train' || j.kind === 'resume')
        ? make('button', { type: 'button', data: { test: 'resume' }, onclick: (e) => post('resume', { run: j.run }, e.target) }, say('job.resume')) : null,
      make('button', { type: 'button', className: 'quiet', 'aria-expanded': String(watching === j.job), data: { test: 'watch' }, onclick: () => watch(watching === j.job ? '' : j.job) }, say('job.output'))),
    make('p', {}, make('code', {}, j.command))];
    if (j.says) parts.push(make('p', {}, j.verdict ? [make('span', { className: 'mark ' + j.verdict }, j.verdict), ' '] : '', j.says));
    if (j.why) parts.push(make('p', { className: j.state === 'failed' ? 'bad' : 'faint' }, j.why));
    if (j.page) parts.push(make('p', {}, make('a', { href: '/diagnose?page=' + encodeURIComponent(j.page), data: { test: 'job-page' } }, say('job.page'))));
    if (watching === j.job) parts.push(make('pre', { className: 'output', tabIndex: 0, 'aria-label': say('job.output'), data: { test: 'output' } }, text));
    return make('article', { className: 'job', data: { job: j.job, state: j.state } }, parts);
  }

  function render() {
    const keep = new Set();
    list.forEach((j, i) => {
      const key = JSON.stringify([j, watching === j.job, list.find((x) => x.run === j.run) === j]);
      let c = cards.get(j.job);
      if (!c || c.key !== key) {
        const el = card(j);
        const had = c?.el.contains(document.activeElement) ? document.activeElement.dataset.test : null;
        if (c) c.el.replaceWith(el);
        c = { el, key };
        cards.set(j.job, c);
        if (had) $(`[data-test="${had}"]`, el)?.focus();
      }
      keep.add(j.job);
      if (box.children[i] !== c.el) box.insertBefore(c.el, box.children[i] ?? null);
    });
    for (const [id, c] of cards) if (!keep.has(id)) { c.el.remove(); cards.delete(id); }
    while (box.children.length > list.length) box.lastElementChild.remove();
    if (!list.length) box.replaceChildren(make('p', { className: 'faint' }, say('job.none')));
  }

  function open() {
    close?.();
    const url = () => '/api/control/stream?' + kinds.map((k) => 'kind=' + k).join('&') + (watching ? `&job=${encodeURIComponent(watching)}&at=${at}` : '');
    close = follow(url, {
      jobs: (l) => { list = l ?? []; render(); changed(list); },
      output: (o) => {
        if (o.job !== watching) return;
        at = o.next;
        text = (text + o.text).slice(-200000);
        const pre = $('pre.output', box);
        if (!pre) return;
        const end = pre.scrollTop + pre.clientHeight >= pre.scrollHeight - 20;
        pre.textContent = text;
        if (end) pre.scrollTop = pre.scrollHeight;
      },
    });
  }

  function watch(id) { watching = id; at = 0; text = ''; render(); open(); }

  box.replaceChildren();
  open();
  return watch;
}
