// Before the user ran a cell or pressed Connect, the page sends no code to a kernel.
import { expect, test } from "vitest";
import { expression, REGISTER } from "../src/bootstrap.js";
import { refusal } from "../src/kernel-link.js";
import { noticeOf } from "../src/notices.js";
import { UsedKernels } from "../src/used-kernels.js";

const trans = { __: (text: string) => text } as Parameters<typeof noticeOf>[2];

class Tab {
  readonly kept = new Map<string, string>();
  getItem(key: string): string | null {
    return this.kept.get(key) ?? null;
  }
  setItem(key: string, value: string): void {
    this.kept.set(key, value);
  }
}

test("a kernel that was not used offers to connect", () => {
  const notice = noticeOf(true, { kind: "off" }, trans);
  expect(notice.action).toBe("connect");
  expect(notice.title).toBe("The chat is not connected to this notebook's kernel");
});

test("used kernels are remembered by the tab", () => {
  const tab = new Tab();
  const before = new UsedKernels(tab);
  expect(before.has("k1")).toBe(false);
  before.add("k1");
  expect(before.has("k1")).toBe(true);
  expect(new UsedKernels(tab).has("k1")).toBe(true);
  expect(new UsedKernels(new Tab()).has("k1")).toBe(false);
});

test.each(["{", "null", '{"k1": 1}', "[1]"])("a damaged memory %j counts as empty", (kept) => {
  const tab = new Tab();
  tab.setItem("svc-jupyterlab:used-kernels", kept);
  expect(new UsedKernels(tab).has("k1")).toBe(false);
});

test("a blocked storage counts as empty", () => {
  const used = new UsedKernels({
    getItem: () => null,
    setItem: () => {
      throw new DOMException("blocked", "SecurityError");
    },
  });
  used.add("k1");
  expect(used.has("k1")).toBe(true);
});

test("the code that connects imports nothing by itself", () => {
  expect(REGISTER).toBe(expression("connect"));
  expect(REGISTER.startsWith('(lambda names: (exec("')).toBe(true);
  expect(REGISTER).toContain("class WorkingFolderError");
});

test("what is refused because of the notebook's folder says what to do", () => {
  const state = refusal({ status: "error", ename: "WorkingFolderError", evalue: "svc_jupyter is only in this folder" });
  expect(state).toEqual({ kind: "unavailable", reason: "folder", text: "svc_jupyter is only in this folder" });
  expect(noticeOf(true, state, trans)).toMatchObject({
    text: "svc_jupyter is only in this folder",
    action: "try-again",
  });
});
