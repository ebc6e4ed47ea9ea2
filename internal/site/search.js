// Search over index.js: every word must be in a section's text or title; titles count more.
const q = document.querySelector('#q'), found = document.querySelector('#found'), up = document.body.dataset.up;
const chinese = document.documentElement.lang.startsWith('zh');

function score(e, words) {
  const title = e.t.toLowerCase();
  let sum = 0;
  for (const w of words) {
    const at = e.x.indexOf(w), t = title.includes(w);
    if (at < 0 && !t) return 0;
    sum += (t ? 20 : 0) + (at < 0 ? 0 : 1 + Math.min(5, e.x.split(w).length - 1));
  }
  if (e.u.startsWith('docs/results/')) sum /= 4;
  return (e.u.includes('zh') === chinese ? 2 : 1) * sum;
}

function show() {
  const words = q.value.toLowerCase().split(/\s+/).filter(Boolean);
  const list = words.length ? index.map((e) => [score(e, words), e]).filter(([s]) => s > 0).sort((a, b) => b[0] - a[0]).slice(0, 20) : [];
  found.replaceChildren(...list.map(([, e]) => {
    const li = document.createElement('li'), a = document.createElement('a'), small = document.createElement('small');
    const at = Math.max(0, e.x.indexOf(words[0]) - 40);
    a.href = up + e.u;
    a.textContent = e.t;
    small.textContent = (at ? '…' : '') + e.x.slice(at, at + 140);
    li.append(a, small);
    return li;
  }));
  if (words.length && !list.length) found.textContent = chinese ? '没有找到' : 'Nothing found';
  found.hidden = !words.length;
}

q.addEventListener('input', show);
document.addEventListener('keydown', (e) => {
  if (e.key === '/' && document.activeElement !== q) { e.preventDefault(); q.focus(); }
  if (e.key === 'Escape') { q.value = ''; show(); }
  if (e.key === 'Enter' && document.activeElement === q) found.querySelector('a')?.click();
});
