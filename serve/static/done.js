// Tells by the system's own notifications that a run has ended, if the reader has asked for that.
import { $, figure, make, say } from './kit.js';

const states = new Map(); // name -> state, as it was last heard

/** ended takes in rows of runs and tells which of those that were running are not any more. */
export function ended(rows) {
  offer();
  for (const r of rows) {
    const was = states.get(r.run);
    states.set(r.run, r.state);
    if (was !== 'running' || r.state === 'running' || !('Notification' in window) || Notification.permission !== 'granted') continue;
    const said = r.mean === null ? '' : say('done.mean', figure(r.mean));
    new Notification(say('done.run', r.title, say('state.' + r.state)), { body: said, tag: r.run });
  }
}

/** offer shows the button that asks for notifications, while nobody has answered yet. */
function offer() {
  if (!('Notification' in window) || Notification.permission !== 'default' || $('#tell')) return;
  $('#keys-button').before(make('button', {
    id: 'tell', className: 'quiet', type: 'button', title: say('done.ask.long'),
    onclick: async (e) => { await Notification.requestPermission(); e.target.remove(); },
  }, say('done.ask')), ' ');
}
