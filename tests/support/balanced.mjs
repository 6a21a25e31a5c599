/** Uses the SDK at a balancer, with many connections at the same time. Prints what came back. */
import process from "node:process";

import { Svc } from "./sdk.mjs";

const [, , key, address] = process.argv;
const client = await Svc.create(key, address);
const session = await client.createSession();
const answer = await new Promise((resolve, reject) => {
  session
    .streamer(() => undefined, resolve)
    .then((streamer) => streamer.send("echo a"))
    .catch(reject);
});
const users = await Promise.all(Array.from({ length: 12 }, () => client.getUserInfo()));
process.stdout.write(JSON.stringify({ answered: answer !== null, users: users.length }));
process.exit(0);
