// One session: shows what the model says while it says it, stays at the end, and changes the mode.
const HIDING = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;
const NEAR = 160; // pixels from the end that count as being there
const session = document.querySelector("[data-session]").dataset.session;
const stream = document.getElementById("stream");
let void_ = false; // what is streamed is on the page by now, once that is brought up to date

const shown = (text) =>
  text.replace(HIDING, (char) =>
    "\n\t".includes(char) ? char : `<U+${char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}>`,
  );
const atEnd = () => innerHeight + scrollY >= document.documentElement.scrollHeight - NEAR;
const toEnd = () => scrollTo({ top: document.documentElement.scrollHeight });

document.addEventListener("assent:delta", ({ detail }) => {
  if (detail.session !== session || detail.body.kind === "call") return;
  const stay = atEnd();
  let last = stream.lastElementChild;
  if (!last || last.dataset.kind !== detail.body.kind) {
    last = document.createElement("div");
    last.className = `plain-text untrusted${detail.body.kind === "text" ? "" : " quiet small"}`;
    last.dir = "auto";
    last.dataset.kind = detail.body.kind;
    stream.append(last);
  }
  last.append(shown(detail.body.text));
  stream.hidden = false;
  if (stay) toEnd();
});
document.addEventListener("assent:event", ({ detail }) => {
  if (detail.session === session && ["part_said", "step_retried", "turn_ended"].includes(detail.kind)) {
    void_ = true;
  }
});
document.addEventListener("assent:before", () => {
  stream.dataset.end = atEnd() ? "yes" : "";
});
document.addEventListener("assent:fresh", () => {
  if (void_) {
    stream.replaceChildren();
    stream.hidden = true;
    void_ = false;
  }
  if (stream.dataset.end) toEnd();
});
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select") && !event.altKey;
  if (event.key !== "m" || event.ctrlKey || event.metaKey || typing) return;
  const modes = [...document.querySelectorAll("#modes button")].filter((each) => each.dataset.mode !== "yolo");
  const now = modes.findIndex((each) => each.getAttribute("aria-pressed") === "true");
  if (modes.length) modes[(now + 1) % modes.length].click();
  event.preventDefault();
});
if (!location.hash) toEnd();
if (matchMedia("(max-width: 60rem)").matches) document.querySelector(".side-fold").open = false;
