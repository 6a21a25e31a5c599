// Reads the picture of a notebook's output. The notebook is untrusted: of its HTML only the image's data is used.
import { oneLine } from "@svc-jupyter/chat/src/untrusted.js";

/** The kernel marks an output with a picture by it (svc_jupyter/answers/picture.py). */
export const PICTURE_TYPE = "application/vnd.svc.picture+json";
const IMAGE = /^data:image\/(?:svg\+xml|png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]*$/;

/** An image of the data in the HTML's first image; null if it has none. */
export function imageIn(markup: string): HTMLImageElement | null {
  const found = new DOMParser().parseFromString(markup, "text/html").querySelector("img");
  const source = found?.getAttribute("src") ?? "";
  if (!found || !IMAGE.test(source)) return null;
  const image = document.createElement("img");
  image.src = source;
  image.alt = image.title = oneLine(found.alt);
  return image;
}

/** The text of an SVG image; "" for other images. */
export function svgOf(address: string): string {
  const [kind, base64 = ""] = address.split(",", 2);
  if (!kind?.startsWith("data:image/svg+xml;")) return "";
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)));
  } catch {
    return ""; // not base64: shown as a broken image
  }
}
