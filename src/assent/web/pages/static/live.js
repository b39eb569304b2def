// Follows the server's events, and brings the live parts of a page up to date from the page itself.
import { morph } from "./morph.js";

const PAUSE_MS = 250; // between two looks at a page while much happens
const MAX_SHOWN = 100;
let source = null;
let loading = false;
let again = false;
let last = 0;

/** Returns a header with what the page shows as waiting, so that the server can say who decided it. */
export function shownHeader() {
  const shown = [...document.querySelectorAll("[data-shown]")].map((each) => each.dataset.shown);
  return shown.length ? { "x-assent-shown": shown.slice(0, MAX_SHOWN).join(" ") } : {};
}

/** Shows a page as the server has it now, in the parts that are marked as live. */
export async function refresh(html) {
  if (html === undefined) {
    if (loading) {
      again = true;
      return;
    }
    loading = true;
    try {
      const wait = last + PAUSE_MS - performance.now();
      if (wait > 0) await new Promise((done) => setTimeout(done, wait));
      again = false;
      last = performance.now();
      const headers = { accept: "text/html", "x-assent-live": "1", ...shownHeader() };
      const reply = await fetch(location.href, { headers });
      if (reply.redirected && new URL(reply.url).pathname === "/login") {
        location.assign(reply.url);
        return;
      }
      if (!reply.ok) return;
      html = await reply.text();
    } catch {
      return; // the connection is gone; the event stream says so, and comes again
    } finally {
      loading = false;
    }
  }
  const found = new DOMParser().parseFromString(html, "text/html");
  document.dispatchEvent(new Event("assent:before"));
  for (const part of document.querySelectorAll("[data-live]")) {
    const fresh = found.getElementById(part.id);
    if (fresh) morph(part, fresh);
  }
  document.dispatchEvent(new Event("assent:fresh"));
  if (again) refresh();
}

/** Opens the stream of events while the page is in sight: browsers allow few connections. */
export function follow() {
  const { kinds, after, follow: wanted } = document.body.dataset;
  if (!kinds) return;
  let position = after;
  const heard = (event) => {
    if (event.lastEventId) position = event.lastEventId;
    const detail = JSON.parse(event.data);
    const name = event.type === "delta" ? "assent:delta" : "assent:event";
    document.dispatchEvent(new CustomEvent(name, { detail }));
    if (event.type !== "delta") refresh();
  };
  const open = () => {
    source = new EventSource(`/api/v1/events?${wanted ? `${wanted}&` : ""}after=${position}`);
    for (const kind of [...kinds.split(" "), "delta"]) source.addEventListener(kind, heard);
    source.addEventListener("open", () => connected(true));
    source.addEventListener("error", () => {
      connected(false);
      if (source.readyState === EventSource.CLOSED) setTimeout(retry, 2000);
    });
  };
  const retry = () => {
    if (document.hidden) return;
    open();
    refresh();
  };
  document.addEventListener("visibilitychange", () => {
    if (source) source.close();
    source = null;
    if (!document.hidden) retry();
  });
  addEventListener("pagehide", () => source && source.close());
  if (!document.hidden) open();
}

function connected(is) {
  const shown = document.getElementById("connection");
  if (!shown) return;
  shown.hidden = is;
  shown.dataset.state = is ? "on" : "off";
  shown.textContent = is ? "" : "Reconnecting…";
}
