// Elements. Texts only ever become text nodes and attribute values that are not markup; there is
// no innerHTML in this page, and its policy would refuse it.

const SVG = "http://www.w3.org/2000/svg";

/** Makes an element. Attributes: text, `class`, `on` for listeners, `data` and ARIA as they are. */
function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
    else if (name === "vars") for (const [key, v] of Object.entries(value)) node.style.setProperty(key, v);
    else if (name === "tip") node.setAttribute("data-tip", value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  append(node, children);
  return node;
}

function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/**
 * A number that can be traced: the element carries the number itself and where it stands in the
 * JSON export of the same run.
 */
function number(value, unit, { path, stderr, text, tip } = {}) {
  const shown = text || Numbers.of(value, unit, stderr);
  if (value === null || value === undefined || Number.isNaN(value)) {
    return el("span", { class: "missing", title: "no value" }, MISSING);
  }
  return el("data", { value: String(value), "data-path": path ? JSON.stringify(path) : null, tip }, shown);
}

// Characters that steer or mislead are written out, as the terminal does it.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb]|[\udb40][\udc00-\udc7f]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** Text from outside as nodes: hidden characters become marked escapes. */
function shown(text) {
  const nodes = [];
  let from = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > from) nodes.push(document.createTextNode(text.slice(from, match.index)));
    nodes.push(el("span", { class: "hidden-char", title: "a character that cannot be seen" }, escapeOf(match[0])));
    from = match.index + match[0].length;
  }
  if (from < text.length) nodes.push(document.createTextNode(text.slice(from)));
  return nodes;
}

/** The same on one line, as a string. */
function line(text, max) {
  const flat = text.slice(0, max * 2).replace(/\s+/g, " ").replace(HIDDEN, escapeOf).trim();
  const cut = flat.length > max || text.length > max * 2;
  return cut ? flat.slice(0, max).replace(/[\ud800-\udbff]$/, "") + "…" : flat;
}

/** A name in a sentence or table. */
const name = (text) => text.replace(HIDDEN, escapeOf);

function escapeOf(character) {
  const code = character.codePointAt(0);
  return code < 256 ? "\\x" + code.toString(16).padStart(2, "0") : `\\u{${code.toString(16)}}`;
}

// One tooltip for the page: what a number rests on, for pointer and keyboard.
const Tooltip = {
  box: null,
  start() {
    this.box = el("div", { id: "tip", role: "tooltip", hidden: true });
    document.body.append(this.box);
    const show = (event) => {
      const target = event.target.closest ? event.target.closest("[data-tip]") : null;
      if (!target) return this.hide();
      this.show(target);
    };
    document.addEventListener("pointerover", show);
    document.addEventListener("focusin", show);
    document.addEventListener("focusout", () => this.hide());
    document.addEventListener("scroll", () => this.hide(), true);
  },
  show(target) {
    // Inside a modal dialog only its own children are seen.
    (target.closest("dialog") || document.body).append(this.box);
    this.box.textContent = target.getAttribute("data-tip");
    this.box.hidden = false;
    const at = target.getBoundingClientRect();
    const own = this.box.getBoundingClientRect();
    const left = Math.min(Math.max(8, at.left + at.width / 2 - own.width / 2), innerWidth - own.width - 8);
    const above = at.top - own.height - 8;
    this.box.style.left = `${left}px`;
    this.box.style.top = `${above > 4 ? above : at.bottom + 8}px`;
  },
  hide() { this.box.hidden = true; },
};
