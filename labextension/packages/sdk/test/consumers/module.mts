// A user's module: the published types pass a strict compiler.
import { type InteractiveSession, type Message, MessageTypeEnum, MimeType, type ModelInfoInput, Svc } from "svc";

const model: ModelInfoInput = { model_name: "svc", version: "1.1" };

export async function ask(prompt: string, signal: AbortSignal): Promise<string> {
  const svc: Svc = await Svc.create("svc_key", "https://svc.example.org");
  const session: InteractiveSession = await svc.createSession({
    ttl: 600,
    name: "n",
    logSession: false,
    model,
    signal,
  });
  await session.attachFile("a.json", "{}", MimeType.JSON, { onprogress: ({ loaded, total }) => loaded / total });
  const shown: string[] = [];
  const streamer = await session.streamer(
    (message: Message) => {
      if (message.message_type === MessageTypeEnum.INFO) shown.push(message.content ?? "");
    },
    (result) => shown.push(result.content ?? ""),
    { signal },
  );
  await streamer.send(prompt);
  return shown.join("\n");
}
