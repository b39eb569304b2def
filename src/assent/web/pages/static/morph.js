// Changes an element into another one in place: focus, selection and what was unfolded stay.

/** Makes `from` equal to `to`; elements keep their identity by id or by place. */
export function morph(from, to) {
  if (from.isEqualNode(to)) return;
  if (from.nodeType !== to.nodeType || from.nodeName !== to.nodeName) {
    from.replaceWith(to);
    return;
  }
  if (from.nodeType !== Node.ELEMENT_NODE) {
    from.data = to.data;
    return;
  }
  if (from.hasAttribute("data-keep")) return;
  attributes(from, to);
  children(from, to);
}

function attributes(from, to) {
  const folds = from.nodeName === "DETAILS";
  for (const { name } of [...from.attributes]) {
    if (!to.hasAttribute(name) && !(folds && name === "open")) from.removeAttribute(name);
  }
  for (const { name, value } of to.attributes) {
    if (from.getAttribute(name) !== value && !(folds && name === "open")) {
      from.setAttribute(name, value);
    }
  }
}

function children(from, to) {
  const known = new Map();
  for (const each of from.childNodes) if (each.id) known.set(each.id, each);
  let at = from.firstChild;
  for (const next of [...to.childNodes]) {
    const same = at && !at.id && !next.id && at.nodeName === next.nodeName ? at : null;
    const old = next.id ? known.get(next.id) : same;
    if (!old || old.nodeName !== next.nodeName) {
      from.insertBefore(next, at);
      continue;
    }
    if (old === at) at = at.nextSibling;
    else from.insertBefore(old, at);
    morph(old, next);
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}
