// Draws the charts of answers in notebooks: in the theme's colours, with tooltips and selection. The output also holds
// each picture as `text/html` with an image, which exports and front ends without this extension show.
import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import { Clipboard } from "@jupyterlab/apputils";
import { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import type { IRenderMime } from "@jupyterlab/rendermime";
import { ITranslator, nullTranslator } from "@jupyterlab/translation";
import { Widget } from "@lumino/widgets";
import { chart } from "@svc-jupyter/chat/src/chart.js";
import type { ChartActions, ChartTexts } from "@svc-jupyter/chat/src/chart.js";
import css from "../../chat/src/chart.css?inline";
import { imageIn, PICTURE_TYPE, svgOf } from "./pictures.js";
import { KernelChatToken } from "./kernel-chat.js";
import type { KernelChat } from "./kernel-chat.js";

const RANK = 10; // before text/html

export const chartsPlugin: JupyterFrontEndPlugin<void> = {
  id: "svc-jupyterlab:charts",
  description: "Draws the charts of answers in the theme's colours, with tooltips and selection.",
  autoStart: true,
  requires: [IRenderMimeRegistry, KernelChatToken],
  optional: [ITranslator],
  activate: (_: JupyterFrontEnd, registry: IRenderMimeRegistry, chat: KernelChat, translator: ITranslator | null) => {
    const trans = (translator ?? nullTranslator).load("svc_jupyterlab");
    const texts = { copy: trans.__("Copy"), askAbout: trans.__("Ask about this") };
    const actions = {
      copy: (value: string) => {
        Clipboard.copyToSystem(value);
      },
      write: (question: string) => void write(chat, question),
    };
    addStyles();
    registry.addFactory(
      { safe: true, mimeTypes: [PICTURE_TYPE], createRenderer: () => new PictureView(texts, actions) },
      RANK,
    );
  },
};

async function write(chat: KernelChat, question: string): Promise<void> {
  const view = await chat.open();
  view?.element.write(question);
}

class PictureView extends Widget implements IRenderMime.IRenderer {
  constructor(
    private readonly texts: ChartTexts,
    private readonly actions: ChartActions,
  ) {
    super();
    this.addClass("svc-Picture");
  }

  renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const html = model.data["text/html"];
    const image = typeof html === "string" ? imageIn(html) : null;
    const drawn = image && chart(svgOf(image.src), this.texts, this.actions);
    this.node.replaceChildren(...(drawn ? [drawn] : image ? [image] : []));
    return Promise.resolve();
  }
}

function addStyles(): void {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}
