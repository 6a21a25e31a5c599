// @vitest-environment jsdom
import { expect, test } from "vitest";
import { imageIn, svgOf } from "../src/pictures.js";

const SVG = "data:image/svg+xml;base64,";

test("only an image's own data is shown", () => {
  const image = imageIn(
    `<p onclick="x()"><img alt="a\u202eb" onerror="x()" style="position:fixed" src="${SVG}PHN2Zy8+"></p>`,
  );
  const attributes = [...(image?.attributes ?? [])].map(({ name, value }) => [name, value]);
  expect(Object.fromEntries(attributes)).toEqual({ src: `${SVG}PHN2Zy8+`, alt: "a⟦U+202E⟧b", title: "a⟦U+202E⟧b" });
});

test.each([
  ["an address", `<img src="https://evil.example/x.png">`],
  ["another type", `<img src="data:text/html;base64,PHA+">`],
  ["data that is not base64", `<img src="data:image/svg+xml;base64,<svg>">`],
  ["no image", "<p>x</p>"],
  ["nothing", ""],
])("%s is not shown", (_name, markup) => {
  expect(imageIn(markup)).toBeNull();
});

test.each([
  ["an SVG", `${SVG}PHN2Zz7DpDwvc3ZnPg==`, "<svg>ä</svg>"],
  ["a PNG", "data:image/png;base64,PHN2Zy8+", ""],
  ["broken base64", `${SVG}P`, ""],
])("the text of %s", (_name, address, expected) => {
  expect(svgOf(address)).toBe(expected);
});
