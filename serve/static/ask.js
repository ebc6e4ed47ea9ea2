// The form of theatre and join: which run or game, and who sits where. Choosing another run loads
// the form of that run.
import { $, $$ } from './kit.js';

/** queryOf is what the form asks for, as an address says it. */
export function queryOf() {
  const q = new URLSearchParams(), run = $('#run').value, i = run.indexOf('=');
  q.set(run.slice(0, i), run.slice(i + 1));
  if ($('#at')?.value) q.set('at', $('#at').value);
  const team = $$('.who').map((s) => s.value);
  if (team.length && team.every((t) => !t.includes(','))) q.set('team', team.join(','));
  else team.forEach((t) => q.append('team', t));
  q.set('seed', $('#seed').value || '1');
  if ($('#seat')) q.set('seat', $('#seat').value);
  return q.toString().replaceAll('%3A', ':').replaceAll('%2F', '/').replaceAll('%2C', ',').replaceAll('%40', '@');
}

/** prepare makes the form answer. */
export function prepare(shows) {
  const form = $('#ask'), here = form.getAttribute('action');
  $('#run').addEventListener('change', () => { const v = $('#run').value, i = v.indexOf('='); location.href = here + '?' + v.slice(0, i) + '=' + encodeURIComponent(v.slice(i + 1)); });
  form.addEventListener('submit', (ev) => { ev.preventDefault(); if (shows) location.href = here + '?' + queryOf(); });
}
