// Keeps the token of who may act, where only pages of this server can read it, and goes on to
// the address without it.
const { to, act } = document.currentScript.dataset;
try {
  if (act === 'true') localStorage.setItem('hop-act', new URLSearchParams(location.search).get('token'));
  else localStorage.removeItem('hop-act');
} catch { /* nothing is kept here: one may look */ }
location.replace(to);
