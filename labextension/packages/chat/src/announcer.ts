// Announces texts to screen readers, with pauses: a later text replaces one that is waiting.
import { oneLine } from "./untrusted.js";

const ANNOUNCE_MS = 1_500; // shortest time between announcements: a screen reader takes that long for a line

export class Announcer {
  #text = "";
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `region` returns the live region. */
  constructor(private readonly region: () => Element | null | undefined) {}

  announce = (text: string): void => {
    this.#text = text;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const region = this.region();
      if (region) region.textContent = oneLine(this.#text);
    }, ANNOUNCE_MS);
  };

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
