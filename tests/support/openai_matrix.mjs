// What OpenAI's own client for Node does with each feature: `node openai_matrix.mjs KEY BASE_URL STREAMING_BASE_URL STREAMING_KEY`.
// Prints one JSON object: for each feature its result, or the class, status, code and param of the error.
import OpenAI from "openai";

const [key, baseURL, streamingURL, streamingKey] = process.argv.slice(2);
const client = new OpenAI({ apiKey: key, baseURL, maxRetries: 0 });
const streaming = new OpenAI({ apiKey: streamingKey, baseURL: streamingURL, maxRetries: 0 });
const FLAW = "Map this to a CWE: the login form concatenates user input into an SQL query.";
const SCHEMA = {
  type: "object",
  properties: { cwe: { anyOf: [{ type: "string" }, { type: "null" }] } },
  required: ["cwe"],
  additionalProperties: false,
};
const LOG = Buffer.from(
  "Mar  3 04:10:00 gate sshd[7]: Accepted password for mara from 203.0.113.61 port 41000 ssh2\n".repeat(3),
).toString("base64");
const PIXEL =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const user = (content) => [{ role: "user", content }];
const ask = (more = {}, content = FLAW) => client.chat.completions.create({ model: "stable", messages: user(content), ...more });
const text = async (...request) => (await ask(...request)).choices[0].message.content;

const FEATURES = {
  async answer() {
    const { object, choices, usage } = await ask();
    return [object, choices.length, choices[0].finish_reason, choices[0].message.content.includes("CWE-89"), usage.total_tokens > 0];
  },
  async headers() {
    const { data, response } = await ask({ temperature: 0, seed: 1 }).withResponse();
    return [
      Boolean(data._request_id),
      /^[0-9a-f]{32}$/.test(response.headers.get("x-session-id")),
      response.headers.get("x-ignored-parameters"),
    ];
  },
  async models() {
    const ids = [];
    for await (const model of client.models.list()) ids.push(model.id);
    return [ids, (await client.models.retrieve("stable")).id];
  },
  async conversation() {
    const messages = [
      { role: "system", content: "Be brief." },
      ...user(FLAW),
      { role: "assistant", content: "CWE-89" },
      ...user("What did you find?"),
    ];
    return (await ask({ messages })).choices[0].message.content.includes("CWE-89");
  },
  async json_object() {
    return typeof JSON.parse(await text({ response_format: { type: "json_object" } }));
  },
  async json_schema() {
    return JSON.parse(await text({ response_format: { type: "json_schema", json_schema: { name: "a", schema: SCHEMA, strict: true } } }));
  },
  async parse_helper() {
    const request = { model: "stable", messages: user(FLAW), response_format: { type: "json_schema", json_schema: { name: "a", schema: SCHEMA } } };
    return JSON.parse((await client.chat.completions.parse(request)).choices[0].message.content);
  },
  async required_function() {
    const tools = [{ type: "function", function: { name: "map", parameters: SCHEMA } }];
    const [{ message, finish_reason }] = (await ask({ tools, tool_choice: "required" })).choices;
    return [finish_reason, message.content, message.tool_calls[0].function.name, JSON.parse(message.tool_calls[0].function.arguments)];
  },
  async file() {
    const part = { type: "file", file: { filename: "auth.log", file_data: `data:text/plain;base64,${LOG}` } };
    return (await text({}, [{ type: "text", text: "Who logged in?" }, part])).includes("mara");
  },
  async image() {
    return typeof (await text({}, [{ type: "text", text: "What is in it?" }, { type: "image_url", image_url: { url: PIXEL } }]));
  },
  async max_tokens() {
    return (await ask({ max_completion_tokens: 2 })).choices[0].finish_reason;
  },
  async stop() {
    return (await text({ stop: ["CWE"] })).includes("CWE");
  },
  async streamed() {
    const stream = await streaming.chat.completions.create({
      model: "stable", messages: user(FLAW), stream: true, stream_options: { include_usage: true },
    });
    let content = "", reasoning = 0, usage = null, reason = null;
    for await (const { choices, usage: counted } of stream) {
      content += choices[0]?.delta.content ?? "";
      reasoning += choices[0]?.delta.reasoning_content ? 1 : 0;
      reason = choices[0]?.finish_reason ?? reason;
      usage = counted ?? usage;
    }
    return [content.includes("CWE-89"), reasoning > 0, reason, usage.total_tokens > 0];
  },
  async stream_helper() {
    const runner = streaming.chat.completions.stream({ model: "stable", messages: user(FLAW) });
    return (await runner.finalContent()).includes("CWE-89");
  },
  async abort() {
    const controller = new AbortController();
    const asked = client.chat.completions.create({ model: "stable", messages: user(FLAW) }, { signal: controller.signal });
    controller.abort();
    return asked;
  },
  stream: () => ask({ stream: true }),
  n: () => ask({ n: 2 }),
  logprobs: () => ask({ logprobs: true }),
  logit_bias: () => ask({ logit_bias: { 1: 2 } }),
  modalities: () => ask({ modalities: ["text", "audio"] }),
  audio: () => ask({ audio: { voice: "alloy", format: "wav" } }),
  web_search_options: () => ask({ web_search_options: {} }),
  functions: () => ask({ functions: [{ name: "f", parameters: {} }] }),
  tools: () => ask({ tools: [{ type: "function", function: { name: "f", parameters: SCHEMA } }] }),
  tool_choice: () => ask({ tool_choice: "required" }),
  stops: () => ask({ stop: ["a", "b", "c", "d", "e"] }),
  schema: () => ask({ response_format: { type: "json_schema", json_schema: { name: "a", schema: { if: {} } } } }),
  linked_image: () => ask({}, [{ type: "image_url", image_url: { url: "https://x.example/a.png" } }]),
  stored_file: () => ask({}, [{ type: "file", file: { file_id: "file-1" } }]),
  model: () => ask({ model: "gpt-4o" }),
  key: () => new OpenAI({ apiKey: `svc_${"A".repeat(49)}`, baseURL, maxRetries: 0 }).models.list(),
  responses: () => client.responses.create({ model: "stable", input: FLAW }),
  embeddings: () => client.embeddings.create({ model: "stable", input: FLAW }),
};

const found = {};
for (const [name, feature] of Object.entries(FEATURES)) {
  try {
    found[name] = await feature();
  } catch (error) {
    found[name] = { error: error.constructor.name, status: error.status ?? null, code: error.code ?? null, param: error.param ?? null };
  }
}
console.log(JSON.stringify(found));
