// The page of comparisons is made by the server; the script says when its runs have
// changed since, and lets runs be taken out.
import { $, $$, follow, loaded } from './kit.js';

await loaded();

const form = $('#pick');
for (const b of $$('[data-remove]', form)) {
  b.addEventListener('click', () => {
    $$('input[type=hidden]', form).find((x) => x.value === b.dataset.remove)?.remove();
    submit();
  });
}
function submit() {
  for (const x of $$('input[name=run]', form)) if (!x.value.trim()) x.disabled = true;
  form.submit();
}
form.addEventListener('submit', (e) => {
  e.preventDefault();
  const add = $('input[list]', form), text = add.value.trim(), options = $$('#all-runs option');
  const hit = options.find((o) => o.value === text || o.textContent === text) ?? options.find((o) => text && o.textContent.includes(text));
  if (hit) add.value = hit.value;
  submit();
});

const runs = $$('input[type=hidden][name=run]', form).map((x) => 'run=' + encodeURIComponent(x.value));
if (runs.length) {
  let first = null;
  follow('/api/curves/stream?' + runs.join('&'), { grown: (g) => {
    const now = g.states.replaceAll(/true|false/g, ''); // whether files were checked meanwhile changes no number
    first ??= now;
    if (now !== first) $('#changed').hidden = false;
  } });
}
