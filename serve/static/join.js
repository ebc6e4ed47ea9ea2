// A seat for a person: all choose at once, and what the others had in mind is shown afterwards. A
// lost connection is taken up again by the address, which names the session.
import { $, address, ask, fault, number, follow, keys, loaded, make, say } from './kit.js';
import { Board, disc, legend, signOf } from './board.js';
import { told } from './minds.js';
import { prepare, queryOf, teamOf, withTeam } from './ask.js';

await loaded();
prepare(false);
const turns = [], pictures = {};
let head = null, board = null, session = address.read().get('session') ?? '', busy = false, stop = () => {}, bound = false, query = '';

$('#take').addEventListener('click', take);
$('#take').disabled = false;
$('#seat').addEventListener('change', () => { // who sits there changes places with the person
  const q = new URLSearchParams(queryOf()), team = teamOf(q), to = Number($('#seat').value), from = team.indexOf('you');
  if (from >= 0) [team[from], team[to]] = [team[to], 'you'];
  location.href = '/join?' + withTeam(q, team);
});
$('#leave').addEventListener('click', async () => { try { await ask('/api/join/leave', { method: 'POST', body: { ID: session }, quiet: true }); } catch { /* it is gone already */ } location.href = '/join?' + withoutSession(); });
if (session) { query = withoutSession(); attend(); }

function withoutSession() { const q = address.read(); q.delete('session'); return q.toString(); }

/** take sits down. */
async function take() {
  $('#take').disabled = true;
  const old = $('#take').textContent;
  $('#take').textContent = say('join.seating');
  try {
    query = queryOf();
    const { id } = await ask('/api/join?' + query, { method: 'POST' });
    session = id;
    history.pushState(null, '', '/join?' + query + '&session=' + encodeURIComponent(id));
    attend();
  } catch { /* the page says it */ } finally { $('#take').disabled = false; $('#take').textContent = old; }
}

/** attend follows the session from its first turn on. */
function attend() {
  stop();
  turns.length = 0;
  let from = 0;
  stop = follow(() => `/api/join/stream?id=${encodeURIComponent(session)}&from=${from}`, {
    begin: () => fault('join', ''),
    head: (h) => { head = h; from++; },
    turn: (t) => { turns[t.step] = t; from++; Object.assign(pictures, t.pictures ?? {}); busy = false; show(); },
    end: () => { stop(); $('#live').textContent = ''; $('#live').className = 'live'; over(); },
    fault: (f) => { stop(); fault('join', f.error); $('#asking').open = true; for (const b of document.querySelectorAll('#pad button')) b.disabled = true; },
  });
}

function show() {
  const t = turns.at(-1);
  if (!board) {
    $('#asking').open = false; $('#intro')?.remove();
    $('#stage').hidden = false;
    $('#leave').hidden = $('#pad').hidden = false;
    board = new Board($('#board'), head, pictures, { mine: head.human });
    $('#board').classList.add('moving');
    pad();
    $('#board').scrollIntoView({ block: 'nearest' });
  }
  board.show(t, { eyes: head.human, label: t.text });
  $('#text').textContent = t.text;
  $('#players').replaceChildren(...t.players.map((p, s) => row(p, s)), legend(pictures));
  for (const b of document.querySelectorAll('#pad button')) b.disabled = !t.legal?.[Number(b.dataset.action)];
  const p = t.players[head.human];
  $('#state').textContent = t.over ? say('join.over', number(p.return)) : t.legal ? say('join.turn', head.human, t.step, head.horizon) : say('join.left');
}

function row(p, s) {
  const does = p.left ? (p.with ? say('theatre.leftwith', p.with, p.left) : say('theatre.left', p.left)) : p.action || '–';
  return make('div', { className: 'player' }, disc(s, p.left > 0), make('b', {}, s === head.human ? say('join.you') : head.seats[s].name), make('span', { className: 'does' }, does),
    make('span', { className: p.reward < 0 ? 'got loss' : 'got' }, p.reward ? (p.reward > 0 ? '+' : '') + number(p.reward) : ''), make('span', { className: 'sum' }, number(p.return)));
}

/** act makes a move. */
async function act(action) {
  const t = turns.at(-1);
  if (busy || !t?.legal) return;
  if (!t.legal[action]) { $('#state').textContent = say('join.illegal', head.actions[action]); return; }
  busy = true;
  $('#state').textContent = say('join.wait');
  try { await ask('/api/join/move', { method: 'POST', body: { ID: session, At: t.moves.length, Action: action } }); } catch { busy = false; }
}

/** pad makes a button for each action, moves as a cross, and lets the keys play. */
function pad() {
  const place = $('#pad'), extra = make('div', { className: 'extra' });
  const cross = ['up', 'down', 'left', 'right'].every((m) => head.actions.some((a) => a.split(' ').at(-1) === m));
  place.className = cross ? 'pad' : 'pad flat';
  place.replaceChildren();
  head.actions.forEach((name, i) => {
    const m = name.split(' ').at(-1), moves = cross && ['up', 'down', 'left', 'right', 'stay'].includes(m) && !place.querySelector('.' + m);
    const b = make('button', { type: 'button', className: moves ? m : '', data: { action: i, test: 'act' }, title: name, 'aria-label': name, onclick: () => act(i) },
      moves ? make('big', { 'aria-hidden': 'true' }, signOf(name)) : name, make('kbd', {}, head.keys[i][0] ?? ''));
    (moves ? place : extra).append(b);
  });
  if (extra.childElementCount) place.append(extra);
  if (bound) return;
  bound = true;
  const names = { up: '↑', down: '↓', left: '←', right: '→', space: 'Space' };
  keys(head.actions.map((name, i) => [head.keys[i].map((x) => names[x] ?? x).join(' '), name, () => act(i)]));
}

/** over shows what came of it, and what was thought of the person. */
function over() {
  const t = turns.at(-1);
  if (!t?.over) return;
  const moves = t.moves.join('.'), q = new URLSearchParams(query);
  q.delete('lang');
  q.set('seat', head.human); q.set('moves', moves);
  const link = q.toString().replaceAll('%3A', ':').replaceAll('%2F', '/').replaceAll('%2C', ',').replaceAll('%40', '@');
  const place = $('#after'), box = make('div', { data: { test: 'told' } }, make('p', { className: 'faint' }, say('join.reading')));
  const next = new URLSearchParams(query);
  next.set('seed', String(BigInt(head.seed) + 1n));
  place.replaceChildren(make('p', { className: 'headline' }, say('join.over', number(t.players[head.human].return))), box,
    make('p', { className: 'tools' }, make('a', { className: 'main', href: '/theatre?' + link, data: { test: 'open' } }, say('join.open')),
      make('button', { type: 'button', onclick: () => { board = null; place.replaceChildren(); take(); }, data: { test: 'again' } }, say('join.again')),
      make('button', { type: 'button', onclick: () => { $('#seed').value = next.get('seed'); board = null; place.replaceChildren(); take(); } }, say('join.next'))));
  $('#leave').hidden = $('#pad').hidden = true;
  const end = follow('/api/theatre/stream?' + link, {
    begin: () => {}, head: () => {}, step: () => {}, regret: () => {},
    sums: (s) => { box.replaceChildren(...told({ head, sums: s }, head.human)); end(); },
    end: () => end(), fault: (f) => { end(); box.replaceChildren(make('p', { className: 'bad' }, f.error)); },
  }, { show: false });
}
