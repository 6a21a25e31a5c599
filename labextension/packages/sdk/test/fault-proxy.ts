/** A TCP proxy in front of a real service, whose connections can be cut or silenced. */
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import process from "node:process";

export class FaultProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #target: URL;
  /** The number of connections so far. */
  connections = 0;
  /** Called for each chunk from the service; returning true cuts the connection before it. */
  cuts: (piece: Buffer) => boolean = () => false;
  /** Drops all data without closing: half-open connections. */
  isSilent = false;

  private constructor(target: string) {
    this.#target = new URL(target);
    this.#server = createServer((client) => {
      this.#serve(client);
    });
  }

  static async start(target: string): Promise<FaultProxy> {
    const proxy = new FaultProxy(target);
    process.env["SVC_TUNNEL_TO"] = new URL(target).host; // the proxy is a tunnel to the service
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  cutAll(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  close(): void {
    delete process.env["SVC_TUNNEL_TO"];
    this.cutAll();
    this.#server.close();
  }

  #serve(client: Socket): void {
    this.connections += 1;
    const upstream = connect(Number(this.#target.port), this.#target.hostname);
    const end = (): void => {
      for (const socket of [client, upstream]) {
        this.#sockets.delete(socket);
        socket.destroy();
      }
    };
    for (const socket of [client, upstream]) {
      this.#sockets.add(socket);
      socket.on("error", end).on("close", end);
    }
    client.on("data", (piece) => {
      if (!this.isSilent) upstream.write(piece);
    });
    upstream.on("data", (piece) => {
      if (this.isSilent) return;
      if (this.cuts(piece)) client.resetAndDestroy();
      else client.write(piece);
    });
  }
}
