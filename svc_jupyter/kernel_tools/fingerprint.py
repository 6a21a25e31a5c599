"""Fingerprint a function with everything that its call depends on, as far as it can be seen without running it.

Part of it: the function's bytecode and constants, defaults, closure, the globals that it names, and, in the same way,
the functions, classes, instances and modules that these are. Comments and line numbers are not. What is installed
(standard library, site-packages) is identified by its name and its own code.

Not seen: names that are built at run time (``globals()[name]``, ``eval``, ``getattr``), files, and the contents of
objects of installed classes, such as a DataFrame, of which only the identity counts.
"""

from __future__ import annotations

import dis
import hashlib
import sys
import sysconfig
import types
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from inspect import getattr_static
from pathlib import Path

MAX_PARTS = 50_000  # of one function; beyond them only the identity of an object counts
MAX_ITEMS = 10_000  # of one container, in the same way
_PLAIN = (int, float, complex, str, bytes, bytearray, bool, type(None), type(Ellipsis))
_CONTAINERS = (dict, list, tuple, set, frozenset)
_STANDARD = tuple({f"{Path(sysconfig.get_paths()[name]).resolve()}/" for name in ("stdlib", "platstdlib")})
_NAMES = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
_NOT_OF_A_CLASS = ("__dict__", "__weakref__", "__doc__", "__firstlineno__", "__module__")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM", "LOAD_SUPER_ATTR")


@dataclass(frozen=True)
class Fingerprint:
    """``code``: of what runs. ``all``: with the data that it refers to, which a call may change itself."""

    code: str
    all: str


def fingerprint(function: Callable[..., object]) -> Fingerprint:
    """Return hashes that change when the function, or something of the kernel that it uses, does."""
    try:
        return Fingerprint(_Described(with_data=False).digest(function), _Described(with_data=True).digest(function))
    except Exception:  # noqa: BLE001  # an object of the user's, or one that another thread is changing
        unique = uuid.uuid4().hex
        return Fingerprint(unique, unique)  # equal to none: permission for it covers no call


class _Described:
    """Feeds a description of objects into a hash, each object once."""

    def __init__(self, *, with_data: bool) -> None:
        self._with_data = with_data
        self._hash = hashlib.sha256()
        self._seen: dict[int, int] = {}
        self._kept: list[object] = []  # so that no identity is used twice

    def digest(self, value: object) -> str:
        """Hash one object and what it refers to."""
        todo: list[Iterator[object]] = [iter((value,))]
        while todo:  # not recursive: a helper may call a helper a thousand times
            following = next(todo[-1], _END)
            if following is _END:
                self._word("end")
                todo.pop()
            else:
                todo.append(iter(self._parts(following)))
        return self._hash.hexdigest()[:32]

    def _parts(self, value: object) -> list[object]:
        """Hash the object's own words; return what else belongs to it."""
        if isinstance(value, _Word):
            return self._word(value.text)
        if not self._with_data and isinstance(value, (*_PLAIN, *_CONTAINERS)):
            return []
        if type(value) in _PLAIN:
            return self._word(f"{type(value).__name__} {value!r}")
        if id(value) in self._seen:
            return self._word(f"seen {self._seen[id(value)]}")
        self._kept.append(value)
        self._seen[id(value)] = len(self._kept)
        self._word(type(value).__qualname__)
        if len(self._kept) > MAX_PARTS or (isinstance(value, _CONTAINERS) and len(value) > MAX_ITEMS):
            return self._word(f"at {id(value)}")
        return _parts_of(value, with_data=self._with_data)

    def _word(self, text: str) -> list[object]:
        data = text.encode("utf-8", "surrogatepass")
        self._hash.update(len(data).to_bytes(8, "big") + data)
        return []


class _Word:
    """Words of a description, as opposed to a string that is a value."""

    def __init__(self, text: str) -> None:
        self.text = text


_END = object()


def _parts_of(value: object, *, with_data: bool) -> list[object]:
    """What belongs to an object, in an order that does not depend on its address."""
    match value:
        case types.FunctionType():
            return _parts_of_function(value)
        case types.CodeType():
            return _parts_of_code(value)
        case types.MethodType():
            return [value.__func__, value.__self__]
        case partial():
            return [value.func, value.args, value.keywords]
        case staticmethod() | classmethod():
            return [value.__func__]
        case property():
            return [value.fget, value.fset, value.fdel]
        case types.CellType():
            return _parts_of_cell(value)
        case types.ModuleType():
            return [_Word(f"{value.__name__} {getattr(value, '__file__', '')}")]
        case type():
            return _parts_of_class(value)
        case dict():
            return [part for pair in dict.items(value) for part in pair]
        case list() | tuple():
            return list(value)
        case set() | frozenset():
            return sorted(value, key=_sort_key)
        case _:
            return _parts_of_instance(value, with_data=with_data)


def _sort_key(value: object) -> tuple[str, str]:
    return type(value).__qualname__, repr(value) if type(value) in _PLAIN else str(id(value))


def _parts_of_function(function: types.FunctionType) -> list[object]:
    head = [_Word(f"{function.__module__}.{function.__qualname__}"), function.__code__]
    if _is_installed(function.__code__.co_filename):
        return head
    used = _Used(function.__code__)
    globals_ = function.__globals__
    named = [part for name in used.globals for part in (_Word(name), globals_.get(name, _Word("builtin")))]
    closure = list(function.__closure__ or ())
    modules = [value for value in (*named, *map(_content, closure)) if isinstance(value, types.ModuleType)]
    modules += [module for name in used.modules if isinstance(module := sys.modules.get(name), types.ModuleType)]
    return [
        *head, *(function.__defaults__ or ()), function.__kwdefaults__, *closure, *named,
        *(part for module in modules for part in _used_of_module(module, used.attributes)),
    ]  # fmt: skip


def _parts_of_code(code: types.CodeType) -> list[object]:
    names = (code.co_name, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    words = (*names, *counts, code.co_code, code.co_exceptiontable)
    return [_Word(repr(words)), *(_part_of_constant(const) for const in code.co_consts)]


def _part_of_constant(const: object) -> object:
    if isinstance(const, types.CodeType):
        return const
    shown = sorted(map(repr, const)) if isinstance(const, frozenset) else const  # a set's order varies
    return _Word(f"{type(const).__name__} {shown!r}")


def _parts_of_cell(cell: types.CellType) -> list[object]:
    content = _content(cell)
    return [_Word("empty")] if content is _END else [content]


def _content(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return _END


def _used_of_module(module: types.ModuleType, attributes: tuple[str, ...]) -> list[object]:
    """What a function uses of a module: ``inventory.owner`` may be another function after a reload."""
    content = vars(module)
    return [part for name in attributes if name in content for part in (_Word(name), content[name])]


def _parts_of_class(kind: type) -> list[object]:
    name = _Word(f"{kind.__module__}.{kind.__qualname__}")
    if not _is_written_by_user(kind):
        return [name]
    content = [
        part for key, value in vars(kind).items()
        if key not in _NOT_OF_A_CLASS and not isinstance(value, types.GetSetDescriptorType)
        for part in (_Word(key), value)
    ]  # fmt: skip
    return [name, type(kind), *kind.__bases__, *content]


def _parts_of_instance(value: object, *, with_data: bool) -> list[object]:
    kind = type(value)
    if isinstance(value, types.BuiltinFunctionType | types.BuiltinMethodType):
        return [_Word(f"{value.__module__}.{value.__qualname__}")]
    wrapped = getattr_static(value, "__wrapped__", None)  # functools.lru_cache
    if isinstance(value, _PLAIN):  # of a class derived from it
        base: type = next(base for base in _PLAIN if isinstance(value, base))
        return [kind, _Word(str(base.__repr__(value)))]  # type: ignore[call-arg]
    state = getattr(value, "__dict__", None)
    if not with_data:
        return [kind, wrapped]
    if _is_written_by_user(kind):
        slots = [getattr(value, name, None) for base in kind.__mro__ for name in getattr(base, "__slots__", ())]
        return [kind, wrapped, dict(state) if isinstance(state, dict) else None, slots]
    return [kind, wrapped, _Word(str(id(value)))]


def _is_written_by_user(kind: type) -> bool:
    if kind.__module__ == "__main__":
        return True
    module = sys.modules.get(kind.__module__)
    file = getattr(module, "__file__", None)
    return module is None or (isinstance(file, str) and not _is_installed(file))


class _Used:
    """The names that a function's code, and the functions inside it, use."""

    def __init__(self, code: types.CodeType) -> None:
        globals_, attributes, modules = set[str](), set[str](), set[str]()
        todo = [code]
        while todo:
            one = todo.pop()
            todo += [const for const in one.co_consts if isinstance(const, types.CodeType)]
            for step in dis.get_instructions(one):
                if step.opname in _NAMES:
                    globals_.add(str(step.argval))
                elif step.opname in _ATTRIBUTES:
                    attributes.add(str(step.argval))
                elif step.opname == "IMPORT_NAME":
                    modules.add(str(step.argval))
        self.globals = tuple(sorted(globals_))
        self.attributes = tuple(sorted(attributes))
        self.modules = tuple(sorted(modules))


@lru_cache(1_000)
def _is_installed(file: str) -> bool:
    path = Path(file).resolve()
    return (
        file.startswith("<frozen")
        or str(path).startswith(_STANDARD)
        or not {"site-packages", "dist-packages"}.isdisjoint(path.parts)
    )
