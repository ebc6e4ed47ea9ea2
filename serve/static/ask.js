// The form of theatre and join: which run or game, and who sits where. Choosing another run loads
// the form of that run.
import { $, $$ } from './kit.js';

/** queryOf is what the form asks for, as an address says it. */
export function queryOf() {
  const q = new URLSearchParams(), run = $('#run').value, i = run.indexOf('=');
  q.set(run.slice(0, i), run.slice(i + 1));
  if ($('#at')?.value) q.set('at', $('#at').value);
  withTeam(q, $$('.who').map((s) => said(s) || s.value));
  q.set('seed', $('#seed').value || '1');
  if ($('#seat')) q.set('seat', $('#seat').value);
  if ($('#person')?.value) q.set('person', $('#person').value);
  return q.toString().replaceAll('%3A', ':').replaceAll('%2F', '/').replaceAll('%2C', ',').replaceAll('%40', '@');
}

/** said is the text that stands below who may be chosen; it counts before the choice. */
const said = (who) => (who.value === 'you' ? '' : who.parentElement.querySelector('.said')?.value.trim());

/** teamOf and withTeam read and write who sits where: all in one, unless a name has a comma of its own. */
export const teamOf = (q) => { const all = q.getAll('team'); return all.length === 1 ? all[0].split(',') : all; };
export function withTeam(q, team) {
  q.delete('team');
  if (team.every((t) => !/[,(]/.test(t))) { if (team.length) q.set('team', team.join(',')); } else team.forEach((t) => q.append('team', t));
  return q;
}

/** prepare makes the form answer. */
export function prepare(shows) {
  const form = $('#ask'), here = form.getAttribute('action');
  $('#run').addEventListener('change', () => { const v = $('#run').value, i = v.indexOf('='); location.href = here + '?' + v.slice(0, i) + '=' + encodeURIComponent(v.slice(i + 1)); });
  for (const who of $$('.who')) who.addEventListener('change', () => { const text = who.parentElement.querySelector('.said'); if (text) text.value = ''; });
  form.addEventListener('submit', (ev) => { ev.preventDefault(); if (shows) location.href = here + '?' + queryOf(); });
}
