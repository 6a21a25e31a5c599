// The dialog of an indicator: which one, and the button that opened it.
import { nothing } from "lit/html.js";
import type { TemplateResult } from "lit/html.js";
import { indicatorOf } from "./chips.js";
import { chipDialog } from "./panels.js";
import type { Strings } from "./strings.js";

export class ChipDialog {
  #chip: { indicator: string; opener: HTMLElement } | null = null;

  constructor(
    private readonly find: (selector: string) => HTMLElement | null | undefined,
    private readonly render: () => void,
    private readonly copy: (text: string) => Promise<unknown>,
  ) {}

  /** Opens for a chip; returns false for anything else. */
  open(opener: HTMLElement): boolean {
    const indicator = indicatorOf(opener);
    if (indicator === undefined) return false;
    this.#chip = { indicator, opener };
    this.render();
    this.find(".chip-dialog .whole")?.focus();
    return true;
  }

  template(strings: Strings): TemplateResult | typeof nothing {
    return this.#chip ? chipDialog(this.#chip.indicator, this.#actions, strings) : nothing;
  }

  readonly #actions = {
    close: () => {
      const opener = this.#chip?.opener;
      this.#chip = null;
      this.render();
      opener?.focus();
    },
    copy: (text: string) => void this.copy(text).then(this.#actions.close),
  };
}
