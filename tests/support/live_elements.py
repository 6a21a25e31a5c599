"""What is alive in a page's element: a judge for hostile text, which looks into shadow roots, too."""

from __future__ import annotations

from playwright.sync_api import Locator

FIND_LIVE = r"""root => {
  const elements = "script, iframe, object, embed, link, meta, base, form, frame, portal, applet, math, foreignObject,"
    + " animate, set, video, audio, source, track, input[type=image], template";
  const found = [];
  const look = one => {
    const say = what => found.push(`${what}: ${one.outerHTML.slice(0, 160)}`);
    if (one.matches(elements) && !OURS(one)) say("element");
    for (const {name, value} of one.attributes) {
      if (/^on/i.test(name)) say("handler");
      if (/^data-commandlinker|^data-jp-(suggestion|cell)|^jp-/i.test(name)) say("command");
      if (/^(src|srcset|poster|data|action|formaction|background|ping|srcdoc|manifest|cite|longdesc|xlink:href)$/i
          .test(name) && !/^(data:image\/(png|jpeg|gif|webp)[;,]|blob:)/i.test(value)
          && !(one.matches("img") && /^data:image\/svg\+xml[;,]/.test(value))) say("address");
      if (name === "href" && !/^(#|hxxps?:|$)/.test(value)) say("link");
      if (name === "style" && /url\(|expression|@import/i.test(value)) say("style");
    }
    if (one.localName === "style" && /url\(|@import/i.test(one.textContent) && !OURS(one)) say("style sheet");
    if (one.shadowRoot) one.shadowRoot.querySelectorAll("*").forEach(look);
  };
  const OURS = one => one.getRootNode() instanceof ShadowRoot && one.matches("style, link, template, form");
  root.querySelectorAll("*").forEach(look);
  return found;
}"""


def live_in(places: Locator) -> list[str]:
    """Scripts, handlers, elements that load or send, commands and links to elsewhere below the elements."""
    return [str(one) for one in places.evaluate_all(f"roots => roots.flatMap({FIND_LIVE})")]
