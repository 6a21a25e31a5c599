// A user's module: the published types pass a strict compiler.
import Default, {
  type InteractiveSession,
  type Message,
  MessageTypeEnum,
  MimeType,
  type MimeTypeEnum,
  type ModelInfoInput,
  Svc,
} from "@svc-jupyter/sdk";

const model: ModelInfoInput = { model_name: "svc", version: "1.1" };

export const wanted: MessageTypeEnum = MessageTypeEnum.RESULT;
export const kind: MimeTypeEnum = "text/csv";
export const isSame: boolean = Default === Svc;

export async function ask(prompt: string, signal: AbortSignal): Promise<string> {
  const svc: Svc = await Svc.create("svc_key", "https://svc.example.org");
  const session: InteractiveSession = await svc.createSession({
    ttl: 600,
    name: "n",
    logSession: false,
    model,
    signal,
  });
  const attaching: Promise<void> = session.attachFile("a.json", "{}", MimeType.JSON, {
    onprogress: ({ loaded, total }) => loaded / total,
  });
  const shown: string[] = [];
  const streamer = await session.streamer(
    (message: Message) => {
      if (message.message_type === MessageTypeEnum.INFO) shown.push(message.content ?? "");
    },
    (result) => shown.push(result.content ?? ""),
    { signal },
  );
  await attaching;
  const sending: Promise<void> = streamer.send(prompt);
  await sending;
  const bytes = await session.readFile(session.files[0] ?? "");
  shown.push(new TextDecoder().decode(bytes), String(new Blob([bytes]).size));
  return shown.join("\n");
}
