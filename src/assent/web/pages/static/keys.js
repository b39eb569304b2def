// Keys: `?` shows the sheet, j and k move among items, g and a letter goes to a page.
export const TYPING = "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]";
const WAIT_MS = 1200; // for the second key
let first = "";

/** Listens for keys where nothing is typed. Enter needs nothing: items are links and buttons. */
export function listenForKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest(TYPING)) return;
    const before = first;
    first = "";
    if (before === "g") {
      const link = document.querySelector(`[data-go="${CSS.escape(event.key)}"]`);
      if (link) link.click();
    } else if (event.key === "?") {
      sheet();
    } else if (event.key === "g") {
      first = "g";
      setTimeout(() => (first = ""), WAIT_MS);
      return;
    } else if (event.key === "j" || event.key === "k") {
      move(event.key === "j" ? 1 : -1);
    } else if (event.key.startsWith("Arrow") && activeLine()) {
      move({ ArrowDown: 1, ArrowUp: -1 }[event.key] || 0);
    } else {
      const key = CSS.escape(event.key);
      const item = document.activeElement.closest("[data-item]");
      const target =
        (item && item.querySelector(`[data-item-key="${key}"]`)) || document.querySelector(`[data-key="${key}"]`);
      if (!target) return;
      if (target.matches(TYPING)) target.focus();
      else target.click();
    }
    event.preventDefault();
  });
}

function sheet() {
  const shown = document.getElementById("keys");
  if (shown.open) shown.close();
  else shown.showModal();
}

function activeLine() {
  return document.activeElement.closest("td.n a");
}

/** Moves among the lines of a table if one has the focus, else among items, and on to the next page. */
function move(step) {
  const line = activeLine();
  const found = line ? line.closest("table").querySelectorAll("td.n a") : document.querySelectorAll("[data-item]");
  const items = [...found].filter((each) => each.offsetParent);
  if (!items.length) return;
  const now = items.indexOf(line || document.activeElement.closest("[data-item]"));
  const turn = line || now < 0 ? null : document.querySelector(`[data-turn="${step}"]`);
  let next = now < 0 ? (step > 0 ? 0 : items.length - 1) : now + step;
  while (line && items[next] && items[next].href === items[now].href) next += step; // beside itself
  if (!items[next] && turn) turn.click();
  const item = items[next] || items[now];
  item.focus();
  item.scrollIntoView({ block: line ? "center" : "nearest" });
}
