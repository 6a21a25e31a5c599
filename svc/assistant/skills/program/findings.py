"""What findings about programs hold. Formats: Microsoft's "PE Format", System V ABI (ELF), ``mach-o/loader.h``."""

from __future__ import annotations

import msgspec

from svc.assistant.skills.file_traits import FileFacts, FileFamily, FilePart, FileTrait, FileVerdict


class ProgramFacts(FileFacts, frozen=True, kw_only=True, tag="program_facts"):
    """What a program (PE, ELF, Mach-O, or MZ for DOS) says about itself.

    A fact that the format does not have, or that could not be read, is null or an empty list.
    """

    imphash: str | None = None
    """PE: hash of the imports."""
    architecture: str | None = None
    bits: int | None = None
    form: str | None = None
    """For example program, library or driver."""
    is_managed: bool | None = None
    """PE: a .NET assembly."""
    subsystem: str | None = None
    """PE."""
    compile_time: str | None = None
    """PE: ISO 8601, as the file states it."""
    interpreter: str | None = None
    """ELF: path of the loader."""
    is_static: bool | None = None
    """ELF."""
    is_stripped: bool | None = None
    """ELF."""
    entry_point: str | None = None
    """PE, ELF: address in hexadecimal."""
    entropy: float | None = None
    """Bits per byte, of the whole file."""
    linker: str | None = None
    """PE: version."""
    mitigations: list[str] = msgspec.field(default_factory=list)
    """Exploit mitigations that are turned on."""
    made_with: list[str] = msgspec.field(default_factory=list)
    """Packers, protectors, installers and languages, with their role."""
    libraries: list[str] = msgspec.field(default_factory=list)
    """Imported libraries: at most 200 of a PE, 100 of others."""
    imported_functions: int | None = None
    """PE, ELF: how many."""
    is_signed: bool | None = None
    """PE, Mach-O: has a signature; whether it is trusted was not checked."""
    pdb: str | None = None
    """PE: debug path of the build machine."""
    compiler: str | None = None
    """ELF."""
    build_id: str | None = None
    """ELF."""


class ProgramPart(FilePart, frozen=True, kw_only=True, tag="program_part"):
    """A section, segment, import, export, resource, signer or overlay of a program."""


class ProgramTrait(FileTrait, frozen=True, kw_only=True, tag="program_trait"):
    """A capability or an oddity of a program."""


class ProgramVerdict(FileVerdict, frozen=True, kw_only=True, tag="program_verdict"):
    """What the traits of a program add up to."""


PROGRAM = FileFamily(part=ProgramPart, trait=ProgramTrait, verdict=ProgramVerdict)
