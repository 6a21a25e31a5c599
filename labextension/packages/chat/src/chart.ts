// Draws a chart of the service into the page, in the page's colours, with tooltips and selection. The service's SVG is
// untrusted: it is rebuilt from the few elements, attributes and values that charts consist of (docs/wire.md, "Charts");
// anything else is no chart, and the caller shows it as an image. Charts hold inert data only; the behaviour is here.
import { oneLine } from "./untrusted.js";

export interface ChartTexts {
  readonly copy: string;
  readonly askAbout: string;
}

export interface ChartActions {
  copy(value: string): void;
  /** Writes a question where the user can edit and send it. */
  write(question: string): void;
}

const SVG = "http://www.w3.org/2000/svg";
const START = /^<svg [^<>]*class="svc-chart"/;
const MAX_CHARS = 1_000_000;
const MAX_ELEMENTS = 8_000;
const ELEMENTS = /^(?:g|rect|text|line|circle|path)$/;
const CLASSES =
  /^(?:name|dim|grid|axis|track|critical|high|medium|low|info|one|two|three|rest|event|[wn]|card|svc-chart| )*$/;
const NUMBER = /^-?\d{1,6}(?:\.\d{1,6})?%?$/;
const VALUES: Readonly<Record<string, RegExp>> = {
  class: CLASSES,
  d: /^[MVH\d. -]{1,200}$/,
  "text-anchor": /^(?:start|middle|end)$/,
  "stroke-dasharray": /^\d \d$/,
};
for (const name of ["x", "y", "width", "height", "rx", "cx", "cy", "r", "x1", "x2", "y1", "y2"]) {
  (VALUES as Record<string, RegExp>)[name] = NUMBER;
}

/** A chart with its behaviour; null if the text is no chart. */
export function chart(source: string, texts: ChartTexts, actions: ChartActions): HTMLElement | null {
  const svg = rebuilt(source);
  return svg && interactive(svg, texts, actions);
}

function rebuilt(source: string): SVGElement | null {
  if (source.length > MAX_CHARS || source.includes("<!") || !START.test(source)) return null; // no entities
  // The page's policy reports each style that is parsed, even without effect: there is none without the namespace. The
  // browser's error page for anything but XML has one, too, so other pictures are not parsed at all.
  const root = new DOMParser().parseFromString(source.replace(SVG, ""), "text/xml").documentElement;
  const height = Number(root.getAttribute("height"));
  if (!(height > 0 && height < 5_000) || root.getElementsByTagName("*").length > MAX_ELEMENTS) return null;
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "svc-chart");
  svg.setAttribute("role", "group");
  svg.style.height = `${String(height)}px`;
  for (const child of root.children) {
    if (child.localName === "title") svg.setAttribute("aria-label", oneLine(child.textContent));
    else if (child.localName !== "style" && !copy(child, svg, 0)) return null;
  }
  return svg;
}

/** Adds a copy of the element to `parent`; false if it is not one of a chart. */
function copy(from: Element, parent: SVGElement, depth: number): boolean {
  if (!ELEMENTS.test(from.localName) || depth > 2) return false;
  const to = document.createElementNS(SVG, from.localName);
  for (const { name, value } of from.attributes) {
    if (/^data-(?:value|ask)$/.test(name)) to.setAttribute(name, oneLine(value, 400));
    else if (VALUES[name]?.test(value)) to.setAttribute(name, value);
    else return false;
  }
  parent.append(to);
  if (from.localName === "text") {
    to.textContent = oneLine(from.textContent);
    return true;
  }
  for (const child of from.children) {
    if (child.localName === "title") to.setAttribute("aria-label", oneLine(child.textContent, 400));
    else if (!copy(child, to, depth + 1)) return false;
  }
  return true;
}

function interactive(svg: SVGElement, texts: ChartTexts, actions: ChartActions): HTMLElement {
  const box = document.createElement("div");
  const tip = document.createElement("div");
  const chosen = document.createElement("div");
  box.className = "svc-picture";
  tip.className = "svc-tip";
  tip.dir = "auto";
  chosen.className = "svc-chosen";
  chosen.setAttribute("aria-live", "polite");
  box.append(svg, tip, chosen);
  const marks = [...svg.querySelectorAll<SVGGElement>("g[aria-label]")];
  marks.forEach((mark, index) => {
    mark.setAttribute("role", "button");
    mark.setAttribute("tabindex", index ? "-1" : "0"); // one stop of the Tab key; the arrow keys go on from there
  });

  let selected = "";
  const show = (mark: SVGGElement | null) => {
    tip.hidden = !mark;
    if (!mark) return;
    tip.textContent = mark.getAttribute("aria-label");
    const [place, at] = [box.getBoundingClientRect(), mark.getBoundingClientRect()];
    const left = at.left + at.width / 2 - place.left - tip.offsetWidth / 2;
    tip.style.left = `${String(Math.max(0, Math.min(left, place.width - tip.offsetWidth)))}px`;
    const above = at.top - place.top - tip.offsetHeight - 4;
    tip.style.top = `${String(above < 0 ? at.bottom - place.top + 4 : above)}px`;
  };
  const select = (mark: SVGGElement | null) => {
    const value = mark?.getAttribute("data-value") ?? "";
    const isNew = value !== "" && selected !== value;
    selected = isNew ? value : "";
    box.classList.toggle("svc-selected", isNew);
    for (const one of marks) {
      one.setAttribute("aria-pressed", String(isNew && one.getAttribute("data-value") === value));
    }
    const question = mark?.getAttribute("data-ask");
    chosen.replaceChildren();
    if (!isNew) return;
    const name = document.createElement("bdi");
    name.textContent = value;
    chosen.append(
      name,
      button(texts.copy, () => actions.copy(value)),
    );
    if (question) chosen.append(button(texts.askAbout, () => actions.write(question), question));
  };
  const focus = (mark: SVGGElement | undefined) => {
    for (const one of marks) one.setAttribute("tabindex", one === mark ? "0" : "-1");
    mark?.focus();
  };

  svg.addEventListener("pointerover", ({ target }) => show(markOf(target)));
  svg.addEventListener("pointerleave", () => show(null));
  svg.addEventListener("focusin", ({ target }) => show(markOf(target)));
  svg.addEventListener("focusout", () => show(null));
  svg.addEventListener("click", ({ target }) => {
    const mark = markOf(target);
    if (mark) focus(mark);
    select(mark);
  });
  svg.addEventListener("keydown", (event) => {
    const mark = markOf(event.target);
    const next = mark && nextOf(event.key, marks.indexOf(mark), marks.length);
    if (typeof next === "number") focus(marks[next]);
    else if (mark && (event.key === "Enter" || event.key === " ")) select(mark);
    else if (event.key === "Escape" && selected) select(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  show(null);
  return box;
}

function nextOf(key: string, index: number, count: number): number | undefined {
  if (key === "ArrowRight" || key === "ArrowDown") return Math.min(index + 1, count - 1);
  if (key === "ArrowLeft" || key === "ArrowUp") return Math.max(index - 1, 0);
  if (key === "Home") return 0;
  return key === "End" ? count - 1 : undefined;
}

function markOf(target: EventTarget | null): SVGGElement | null {
  return target instanceof Element ? target.closest<SVGGElement>("g[aria-label]") : null;
}

function button(label: string, act: () => void, title = ""): HTMLButtonElement {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = label;
  made.title = title;
  made.addEventListener("click", act);
  return made;
}
