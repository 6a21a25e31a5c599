"""The npm packages as users install them: from a service, from `npm pack` in a clone, from the folder."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

import svc
from svc.service.settings import Settings
from tests.support.assistants.scripted import Echo
from tests.support.live import ThreadService
from tests.support.npm_packages import NAMES, compile_strictly, make_project, run, served_addresses
from tests.support.npm_workspace import WORKSPACE, install, one_at_a_time

ROOT = WORKSPACE.parent
STATIC = ROOT / "svc" / "service" / "static"
MODULE = """
import Default, { Svc, MessageTypeEnum } from "@svc-jupyter/sdk";
import { SvcChat, ENGLISH } from "@svc-jupyter/chat";
console.log(JSON.stringify([Default === Svc, MessageTypeEnum.RESULT, typeof SvcChat, ENGLISH.send]));
"""
COMMON = """
const { Svc, MessageTypeEnum, default: Default } = require("@svc-jupyter/sdk");
const { SvcChat, ENGLISH } = require("@svc-jupyter/chat");
console.log(JSON.stringify([Default === Svc, MessageTypeEnum.RESULT, typeof SvcChat, ENGLISH.send]));
"""
TYPED = """
import Default, { type InteractiveSession, MessageTypeEnum, type SessionFile, Svc, type User } from "@svc-jupyter/sdk";
import { SvcChat, type ResultDetail, type Strings } from "@svc-jupyter/chat";

export const wanted: MessageTypeEnum = MessageTypeEnum.RESULT;
export async function use(session: InteractiveSession, file: SessionFile): Promise<string> {
  const svc: Svc = await Default.create("svc_key");
  const { email }: User = await svc.getUser();
  const streamer = await session.streamer((message) => message.seq, (result) => result.content);
  const sent: Promise<void> = streamer.send("question");
  const attached: Promise<void> = session.attachFile("a.log", "text");
  await Promise.all([sent, attached]);
  return email + new Blob([await session.readFile(file)]).size;
}
export function show(chat: SvcChat, strings: Partial<Strings>): string {
  chat.strings = strings;
  chat.addEventListener("svc-result", (event) => { const detail: ResultDetail = event.detail; void detail.status; });
  const other: SvcChat = document.createElement("svc-chat");
  return other.sessionId;
}
// @ts-expect-error -- the types are those of the package, not `any`
export const wrong: number = Svc.create;
"""
TYPED_COMMON = """
import sdk = require("@svc-jupyter/sdk");
import chat = require("@svc-jupyter/chat");
export const created: Promise<sdk.Svc> = sdk.Svc.create("svc_key");
export const words: chat.Strings = chat.ENGLISH;
// @ts-expect-error -- the types are those of the package, not `any`
export const wrong: number = sdk.Svc;
"""


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory, built: None) -> Iterator[ThreadService]:
    service = ThreadService(tmp_path_factory.mktemp("service"), Echo(), Settings(stop_seconds=0.3))
    yield service
    service.stop()


@pytest.fixture(scope="module")
def project(live: ThreadService, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty project that installed both packages from a service."""
    install()  # so that npm has `ws` at hand
    return make_project(tmp_path_factory.mktemp("npm") / "project", *served_addresses(live.base_url))


def check(project: Path, live: ThreadService) -> None:
    """What must work wherever the packages came from."""
    (project / "module.mjs").write_text(MODULE)
    (project / "common.cjs").write_text(COMMON)
    expected = [True, "result", "function", "Send"]
    assert json.loads(run("node", "module.mjs", cwd=project)) == expected
    assert json.loads(run("node", "common.cjs", cwd=project)) == expected
    script = 'import Svc from "@svc-jupyter/sdk"; console.log((await (await Svc.create()).getUser()).email)'
    asked = run(
        "node", "--input-type=module", "-e", script, cwd=project, SVC_API_KEY=live.key, SVC_BASE_URL=live.base_url
    )
    assert "@" in asked or asked == "\n"


def check_types(project: Path, *resolutions: str) -> None:
    for name, text in {"typed.mts": TYPED, "typed.ts": TYPED, "typed.cts": TYPED_COMMON}.items():
        (project / name).write_text(text)
    for resolution in resolutions:
        files = ["typed.ts"] if resolution == "bundler" else ["typed.mts", "typed.cts"]
        compile_strictly(project, resolution, *files)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_what_a_service_serves_installs_and_loads_as_a_module_and_by_require(project: Path, live: ThreadService):
    check(project, live)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_its_types_pass_a_strict_compiler(project: Path):
    check_types(project, "node16")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_its_types_pass_with_every_way_to_resolve_modules(project: Path):
    check_types(project, "nodenext", "bundler")


@pytest.mark.parametrize("name", NAMES)
def test_a_served_package_is_a_tarball_and_not_compressed_twice(live: ThreadService, name: str):
    reply = httpx2.get(f"{live.base_url}/dist/{name}", trust_env=False)

    assert (reply.status_code, reply.headers["content-type"]) == (200, "application/gzip")
    assert "content-encoding" not in reply.headers
    assert reply.content == (STATIC / name).read_bytes()
    headers = {"If-None-Match": reply.headers["etag"]}
    assert httpx2.get(f"{live.base_url}/dist/{name}", headers=headers, trust_env=False).status_code == 304


def contents(tarball: Path) -> dict[str, bytes]:
    with tarfile.open(tarball) as archive:
        return {entry.name: archive.extractfile(entry).read() for entry in archive if entry.isfile()}


@pytest.mark.parametrize("name", NAMES)
def test_a_package_has_what_its_manifest_names_and_needs_nothing_that_npm_does_not_have(built: None, name: str):
    files = contents(STATIC / name)
    manifest = json.loads(files["package/package.json"])

    assert (manifest["name"], manifest["version"]) == (NAMES[name], svc.__version__)
    assert "private" not in manifest
    assert set(manifest.get("dependencies", {})) <= {"ws"}
    exported = json.dumps({key: value for key, value in manifest["exports"].items() if "*" not in key})
    targets = {part for part in exported.split('"') if part.startswith("./dist/")}
    assert {f"package/{target.removeprefix('./')}" for target in targets} - set(files) == set()
    assert len(targets) >= 5
    assert {"package/LICENSE", "package/README.md"} <= set(files)
    assert not [path for path in files if path.endswith(("panel.js", "bundled.json")) or "/test" in path]


def test_the_licences_of_what_the_element_contains_are_in_its_package(built: None):
    text = contents(STATIC / "svc-chat.tgz")["package/dist/THIRD_PARTY_LICENSES.txt"].decode()
    for name in ("dompurify", "lit-html", "marked"):
        assert f"\n{name} " in f"\n{text}"


@pytest.mark.parametrize("name", NAMES)
def test_a_tarball_depends_on_its_files_alone(built: None, name: str):
    raw = (STATIC / name).read_bytes()
    assert (raw[4:8], raw[9]) == (b"\0\0\0\0", 255)  # no time, no system
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(raw))) as archive:
        assert {(entry.mode, entry.uid, entry.gid, entry.uname, entry.mtime) for entry in archive} == {
            (0o644, 0, 0, "", 499_162_500)
        }


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_npm_pack_and_a_folder_install_build_the_package_in_a_fresh_clone(
    tmp_path: Path, live: ThreadService, built: None
):
    """Nothing is installed there: `prepack` and `prepare` see to it."""
    cloned = subprocess.run(["git", "clone", "--quiet", "--local", ROOT, tmp_path / "clone"], capture_output=True)
    if cloned.returncode:
        pytest.skip("no git checkout")
    packages = tmp_path / "clone" / "labextension" / "packages"
    (tmp_path / "packed").mkdir()
    for name in ("sdk", "chat"):
        run("npm", "pack", "--pack-destination", tmp_path / "packed", cwd=packages / name)
    packed = sorted((tmp_path / "packed").iterdir())
    assert len(packed) == 2
    project = make_project(tmp_path / "project", *packed)
    check(project, live)
    check_types(project, "node16")

    for name in ("sdk", "chat"):
        run("git", "clean", "-fdxq", ".", cwd=packages / name)
    check(make_project(tmp_path / "linked", packages / "sdk", packages / "chat"), live)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_npm_pack_in_the_workspace_gives_what_is_served(tmp_path: Path, built: None):
    install()
    with one_at_a_time():
        for name, served in (("sdk", "svc-sdk.tgz"), ("chat", "svc-chat.tgz")):
            folder = tmp_path / name
            folder.mkdir()
            run("npm", "pack", "--pack-destination", folder, cwd=WORKSPACE / "packages" / name)
            (packed,) = folder.iterdir()
            assert contents(packed) == contents(STATIC / served)
