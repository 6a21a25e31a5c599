"""Turn the syntax tree of JavaScript into functions that evaluate it.

Each node becomes one function of a scope, so that loops do not walk the tree again. Bodies of functions are compiled
when they are first called. A condition that only the system could decide (a Host) takes both ways, so that code behind
a check of the environment is seen; a loop with such a condition runs twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from svc.assistant.skills.script.javascript.machine import Machine
from svc.assistant.skills.script.javascript.scopes import (
    BREAK,
    CONTINUE,
    IGNORED,
    Body,
    Expression,
    Jump,
    Place,
    Scope,
    Statement,
    constant,
    field,
    flat,
    from_case,
    is_in,
    logical,
    negated,
    nothing,
    signed,
    spread,
    tried,
    unescaped,
    walked,
)
from svc.assistant.skills.script.javascript.values import (
    UNDEFINED,
    UNKNOWN,
    Host,
    JsArray,
    JsFunction,
    JsObject,
    JsPattern,
    JsThrownError,
    Value,
    added,
    calculated,
    compared,
    is_truthy,
    normal,
    number_of,
    string_of,
    type_of,
)

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_ROUNDS = 60_000  # of one loop
MAX_UNKNOWN_ROUNDS = 2  # of a loop whose condition only the system could decide


class Compiler:
    """Compiles the nodes of one text, whose tree has to be kept as long as its functions."""

    def __init__(self, machine: Machine, data: bytes, handlers: list[Callable[[], None]]) -> None:
        self.machine = machine
        self.handlers = handlers
        self._data = data
        self._bodies: dict[int, Body] = {}

    def text(self, node: Node | None) -> str:
        """The source text of a node."""
        return "" if node is None else self._data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    # -- statements

    def block(self, nodes: list[Node]) -> Statement:
        """Compile statements; functions are declared first."""
        declared = [node for node in nodes if node.type in ("function_declaration", "generator_function_declaration")]
        statements = [self.statement(node) for node in nodes if node not in declared and node.type not in IGNORED]
        functions = [(self.text(node.child_by_field_name("name")), node) for node in declared]
        charge = self.machine.charge

        def run(scope: Scope) -> Jump | None:
            for name, node in functions:
                scope.variables[name] = self.function(node, scope)
            for statement in statements:
                charge(1)
                signal = statement(scope)
                if signal is not None:
                    return signal
            return None

        return run

    def statement(self, node: Node) -> Statement:
        """Compile one statement."""
        build = _STATEMENTS.get(node.type)
        if build is not None:
            return build(self, node)
        if node.type in ("function_declaration", "generator_function_declaration", "class_declaration"):
            return self.block([node]) if node.type != "class_declaration" else nothing
        value = self.expression(node)

        def run(scope: Scope) -> None:
            value(scope)

        return run

    def _expression_statement(self, node: Node) -> Statement:
        return self.statement(node.named_children[0]) if node.named_children else nothing

    def _statement_block(self, node: Node) -> Statement:
        return self.block(node.named_children)

    def _declaration(self, node: Node) -> Statement:
        parts = [self._declarator(one) for one in node.named_children if one.type == "variable_declarator"]

        def run(scope: Scope) -> None:
            for part in parts:
                part(scope)

        return run

    def _declarator(self, node: Node) -> Callable[[Scope], None]:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None or (name.type != "identifier" and value is None):
            return lambda scope: None
        if value is None:
            word = self.text(name)
            return lambda scope: None if word in scope.variables else scope.variables.__setitem__(word, UNDEFINED)
        read, put = self.expression(value), self.place(name, is_new=True)
        return lambda scope: put(scope, read(scope))

    def _if(self, node: Node) -> Statement:
        condition = self.expression(field(node, "condition"))
        first = self.statement(field(node, "consequence"))
        other = node.child_by_field_name("alternative")
        second = (
            nothing if other is None else self.statement(other.named_children[0] if other.named_children else other)
        )

        def run(scope: Scope) -> Jump | None:
            value = condition(scope)
            if not isinstance(value, Host) or value.is_root:
                return first(scope) if is_truthy(value) else second(scope)
            signal = tried(first, scope)
            other_signal = tried(second, scope)
            if signal is not None and signal.kind != "return":
                return signal
            return other_signal if signal is not None else None

        return run

    def _loop(
        self, condition: Expression | None, body: Statement, after: Expression | None, *, is_first_free: bool
    ) -> Statement:
        charge = self.machine.charge

        def run(scope: Scope) -> Jump | None:
            unknown = 0
            for number in range(MAX_ROUNDS):
                charge(1)
                if condition is not None and not (is_first_free and number == 0):
                    value = condition(scope)
                    unknown += isinstance(value, Host)
                    if not is_truthy(value) or unknown > MAX_UNKNOWN_ROUNDS:
                        break
                signal = body(scope)
                if signal is not None and (signal.label or signal.kind == "return"):
                    return signal
                if signal is BREAK:
                    break
                if after is not None:
                    after(scope)
            return None

        return run

    def _for(self, node: Node) -> Statement:
        start, condition = node.child_by_field_name("initializer"), node.child_by_field_name("condition")
        increment = node.child_by_field_name("increment")
        first = nothing if start is None or start.type == "empty_statement" else self.statement(start)
        test = None if condition is None or condition.type == "empty_statement" else self.expression(condition)
        after = None if increment is None else self.expression(increment)
        loop = self._loop(test, self.statement(field(node, "body")), after, is_first_free=False)

        def run(scope: Scope) -> Jump | None:
            first(scope)
            return loop(scope)

        return run

    def _while(self, node: Node) -> Statement:
        is_do = node.type == "do_statement"
        return self._loop(
            self.expression(field(node, "condition")), self.statement(field(node, "body")), None, is_first_free=is_do
        )

    def _for_in(self, node: Node) -> Statement:
        put = self.place(field(node, "left"), is_new=node.child_by_field_name("kind") is not None)
        read, body = self.expression(field(node, "right")), self.statement(field(node, "body"))
        is_of = self.text(node.child_by_field_name("operator")) == "of"

        def run(scope: Scope) -> Jump | None:
            for one in walked(read(scope), is_of=is_of):
                self.machine.charge(1)
                put(scope, one)
                signal = body(scope)
                if signal is not None and (signal.label or signal.kind == "return"):
                    return signal
                if signal is BREAK:
                    break
            return None

        return run

    def _switch(self, node: Node) -> Statement:
        subject = self.expression(field(node, "value"))
        cases: list[tuple[Expression | None, Statement]] = []
        for case in field(node, "body").named_children:
            if case.type in IGNORED:
                continue
            value = case.child_by_field_name("value")
            body = [one for one in case.named_children if value is None or one.id != value.id]
            cases.append((None if value is None else self.expression(value), self.block(body)))

        def run(scope: Scope) -> Jump | None:
            value = subject(scope)
            chosen = [
                index
                for index, (test, _) in enumerate(cases)
                if test is not None and compared("===", value, test(scope)) is True
            ][:1]
            chosen = chosen or [index for index, (test, _) in enumerate(cases) if test is None]
            starts = range(len(cases)) if isinstance(value, Host) else chosen
            for start in starts:
                signal = from_case(cases[start:], scope)
                if signal is not None and signal is not BREAK:
                    return signal
            return None

        return run

    def _try(self, node: Node) -> Statement:
        body, handler = self.statement(field(node, "body")), node.child_by_field_name("handler")
        final = node.child_by_field_name("finalizer")
        parameter = None if handler is None else handler.child_by_field_name("parameter")
        put = None if parameter is None else self.place(parameter, is_new=True)
        caught = nothing if handler is None else self.statement(field(handler, "body"))
        after = nothing if final is None else self.statement(field(final, "body"))
        is_run = False

        def handle(scope: Scope, value: Value) -> Jump | None:
            nonlocal is_run
            is_run = True
            if put is not None:
                put(scope, value)
            return caught(scope)

        def unreached(scope: Scope) -> None:
            if not is_run:
                handle(scope, UNKNOWN)

        def run(scope: Scope) -> Jump | None:
            try:
                signal = body(scope)
                if handler is not None and not is_run and len(self.handlers) < 50:
                    self.handlers.append(lambda: unreached(scope))
            except JsThrownError as error:
                if handler is None:
                    after(scope)
                    raise
                signal = handle(scope, error.value)
            return after(scope) or signal

        return run

    def _return(self, node: Node) -> Statement:
        read = self.expression(node.named_children[0]) if node.named_children else None
        return lambda scope: Jump("return", "", UNDEFINED if read is None else read(scope))

    def _leave(self, node: Node) -> Statement:
        label, kind = node.child_by_field_name("label"), node.type.split("_")[0]
        signal = Jump(kind, self.text(label)) if label is not None else (BREAK if kind == "break" else CONTINUE)
        return lambda scope: signal

    def _labelled(self, node: Node) -> Statement:
        label, body = self.text(node.child_by_field_name("label")), self.statement(field(node, "body"))

        def run(scope: Scope) -> Jump | None:
            signal = body(scope)
            return None if signal is not None and signal.label == label else signal

        return run

    def _throw(self, node: Node) -> Statement:
        read = self.expression(node.named_children[0])

        def run(scope: Scope) -> Jump | None:
            raise JsThrownError(read(scope))

        return run

    def _with(self, node: Node) -> Statement:
        read, body = self.expression(field(node, "object")), self.statement(field(node, "body"))

        def run(scope: Scope) -> Jump | None:
            value = read(scope)
            inside = value.properties if isinstance(value, JsObject) else {}
            return body(Scope(inside, scope, scope.this))

        return run

    def _export(self, node: Node) -> Statement:
        inner = node.child_by_field_name("declaration") or node.child_by_field_name("value")
        return nothing if inner is None else self.statement(inner)

    # -- expressions

    def expression(self, node: Node) -> Expression:
        """Compile one expression; one of an unknown kind is a Host."""
        self.machine.charge(2)
        build = _EXPRESSIONS.get(node.type)
        return build(self, node) if build is not None else lambda scope: UNKNOWN

    def _identifier(self, node: Node) -> Expression:
        name, machine = self.text(node), self.machine
        if name == "undefined":
            return lambda scope: UNDEFINED

        def read(scope: Scope) -> Value:
            current: Scope | None = scope
            while current is not None:
                if name in current.variables:
                    return current.variables[name]
                current = current.parent
            if name in machine.globals:
                return machine.globals[name]
            return Host(name)

        return read

    def _string(self, node: Node) -> Expression:
        value = unescaped(self.text(node)[1:-1])
        return lambda scope: value

    def _template(self, node: Node) -> Expression:
        parts: list[Expression] = []
        end = node.start_byte + 1
        for one in node.named_children:
            if one.type == "template_substitution" and one.named_children:
                parts.append(constant(unescaped(self._data[end : one.start_byte].decode("utf-8", "replace"))))
                parts.append(self.expression(one.named_children[0]))
                end = one.end_byte
        parts.append(constant(unescaped(self._data[end : node.end_byte - 1].decode("utf-8", "replace"))))
        return lambda scope: "".join(string_of(part(scope)) for part in parts)

    def _number(self, node: Node) -> Expression:
        text = self.text(node).replace("_", "").rstrip("n")
        is_octal = len(text) > 1 and text[0] == "0" and text.isdecimal() and not set(text) & {"8", "9"}
        return constant(int(text, 8) if is_octal else number_of(text))

    def _regex(self, node: Node) -> Expression:
        source, flags = self.text(node.child_by_field_name("pattern")), self.text(node.child_by_field_name("flags"))
        return lambda scope: JsPattern(source, flags)

    def _array(self, node: Node) -> Expression:
        items: list[tuple[Expression, bool]] = []
        is_hole = True
        for one in node.children:
            if one.type == ",":
                items += [(constant(UNDEFINED), False)] if is_hole else []
                is_hole = True
            elif one.is_named and one.type not in IGNORED:
                is_spread = one.type == "spread_element"
                items.append((self.expression(one.named_children[0] if is_spread else one), is_spread))
                is_hole = False

        def make(scope: Scope) -> Value:
            self.machine.charge(1 + len(items) // 4)
            return JsArray(list(spread(items, scope)))

        return make

    def _object(self, node: Node) -> Expression:
        pairs: list[tuple[Expression, Expression]] = []
        for one in node.named_children:
            if one.type == "pair":
                pairs.append((self._key(field(one, "key")), self.expression(field(one, "value"))))
            elif one.type == "shorthand_property_identifier":
                pairs.append((constant(self.text(one)), self._identifier(one)))
            elif one.type == "method_definition":
                pairs.append((self._key(field(one, "name")), self._function_expression(one)))

        def make(scope: Scope) -> Value:
            return JsObject({string_of(key(scope)): value(scope) for key, value in pairs})

        return make

    def _key(self, node: Node) -> Expression:
        if node.type == "computed_property_name" and node.named_children:
            return self.expression(node.named_children[0])
        return self._string(node) if node.type == "string" else constant(self.text(node))

    def _function_expression(self, node: Node) -> Expression:
        name = node.child_by_field_name("name")
        own = self.text(name) if name is not None and node.type == "function_expression" else ""

        def make(scope: Scope) -> Value:
            if not own:
                return self.function(node, scope)
            inner = Scope({}, scope, scope.this)
            inner.variables[own] = made = self.function(node, inner)
            return made

        return make

    def function(self, node: Node, scope: Scope) -> JsFunction:
        """Return the function that ``node`` defines in ``scope``; its body is compiled when it is first called."""
        is_arrow = node.type == "arrow_function"

        def call(this: Value, arguments: list[Value]) -> Value:
            parameters, body, is_block = self._body(node)
            variables: dict[str, Value] = {} if is_arrow else {"arguments": JsArray(arguments)}
            inner = Scope(variables, scope, scope.this if is_arrow else this)
            for put in parameters:
                put(inner, arguments)
            result = body(inner)
            if not is_block:
                return result
            return result.value if isinstance(result, Jump) and result.kind == "return" else UNDEFINED

        return JsFunction(call, self.text(node.child_by_field_name("name")), lambda: self.text(node))

    def _body(self, node: Node) -> Body:
        if node.id not in self._bodies:
            self._bodies[node.id] = self._compiled_body(node)
        return self._bodies[node.id]

    def _compiled_body(self, node: Node) -> Body:
        single, listed = node.child_by_field_name("parameter"), node.child_by_field_name("parameters")
        nodes = (
            [single]
            if single is not None
            else []
            if listed is None
            else [one for one in listed.named_children if one.type not in IGNORED]
        )
        parameters = [self._parameter(one, index) for index, one in enumerate(nodes)]
        body = field(node, "body")
        is_block = body.type == "statement_block"
        return parameters, self.block(body.named_children) if is_block else self.expression(body), is_block

    def _parameter(self, node: Node, index: int) -> Callable[[Scope, list[Value]], None]:
        if node.type == "rest_pattern" and node.named_children:
            put_rest = self.place(node.named_children[0], is_new=True)
            return lambda scope, given: put_rest(scope, JsArray(given[index:]))
        default = self.expression(field(node, "right")) if node.type == "assignment_pattern" else None
        put = self.place(field(node, "left") if default is not None else node, is_new=True)

        def bind(scope: Scope, given: list[Value]) -> None:
            value = given[index] if index < len(given) else UNDEFINED
            put(scope, default(scope) if value is UNDEFINED and default is not None else value)

        return bind

    def _inner(self, node: Node) -> Expression:
        inner = [one for one in node.named_children if one.type not in IGNORED]
        return self.expression(inner[0]) if inner else constant(UNDEFINED)

    def _sequence(self, node: Node) -> Expression:
        parts = [self.expression(one) for one in flat(node, "sequence_expression")]

        def read(scope: Scope) -> Value:
            value: Value = UNDEFINED
            for part in parts:
                value = part(scope)
            return value

        return read

    def _binary(self, node: Node) -> Expression:
        operator = self.text(node.child_by_field_name("operator"))
        if operator == "+":
            return self._sum(node)
        left, right = self.expression(field(node, "left")), self.expression(field(node, "right"))
        if operator in ("&&", "||", "??"):
            return logical(operator, left, right)
        if operator in _COMPARISONS:
            return lambda scope: compared(operator, left(scope), right(scope))
        if operator == "in":
            return lambda scope: is_in(left(scope), right(scope))
        if operator == "instanceof":
            return lambda scope: (
                UNKNOWN
                if right(scope) is UNKNOWN
                else left(scope) is not UNDEFINED and isinstance(left(scope), JsObject)
            )
        return lambda scope: calculated(operator, left(scope), right(scope))

    def _sum(self, node: Node) -> Expression:
        """A chain of ``+``, which may have thousands of links, is evaluated in a loop."""
        links: list[Expression] = []
        current: Node = node
        while current.type == "binary_expression" and self.text(current.child_by_field_name("operator")) == "+":
            links.append(self.expression(field(current, "right")))
            current = field(current, "left")
        first = self.expression(current)
        links.reverse()
        charge = self.machine.charge

        def read(scope: Scope) -> Value:
            charge(1 + len(links) // 4)
            total = first(scope)
            for link in links:
                total = added(total, link(scope))
            return total

        return read

    def _unary(self, node: Node) -> Expression:
        operator, argument = self.text(node.child_by_field_name("operator")), field(node, "argument")
        read = self.expression(argument)
        if operator == "typeof":
            return self._type_of(argument, read)
        if operator == "!":
            return lambda scope: negated(read(scope))
        if operator == "void":
            return lambda scope: (read(scope), UNDEFINED)[1]
        if operator == "delete":
            return lambda scope: True
        return lambda scope: signed(operator, read(scope))

    def _type_of(self, argument: Node, read: Expression) -> Expression:
        name = self.text(argument) if argument.type == "identifier" else ""

        def kind(scope: Scope) -> Value:
            if name and scope.holder(name) is None and name not in self.machine.globals:
                return "undefined"
            value = read(scope)
            return UNKNOWN if isinstance(value, Host) and not value.is_root else type_of(value)

        return kind

    def _update(self, node: Node) -> Expression:
        argument = field(node, "argument")
        read, put = self.expression(argument), self.place(argument)
        step = 1 if self.text(node.child_by_field_name("operator")) == "++" else -1
        is_before = node.children[0].type in ("++", "--")

        def change(scope: Scope) -> Value:
            value = read(scope)
            if isinstance(value, Host):
                return value
            old = number_of(value)
            new = normal(old + step)
            put(scope, new)
            return new if is_before else old

        return change

    def _assignment(self, node: Node) -> Expression:
        put, read = self.place(field(node, "left")), self.expression(field(node, "right"))

        def assign(scope: Scope) -> Value:
            value = read(scope)
            put(scope, value)
            return value

        return assign

    def _augmented(self, node: Node) -> Expression:
        left, operator = field(node, "left"), self.text(node.child_by_field_name("operator"))[:-1]
        old, put, read = self.expression(left), self.place(left), self.expression(field(node, "right"))
        charge = self.machine.charge

        def assign(scope: Scope) -> Value:
            before = old(scope)
            value = read(scope)
            if operator == "+":
                result = added("" if before is UNDEFINED and isinstance(value, str) else before, value)
                charge(1 + len(result) // 4_000 if isinstance(result, str) else 1)
            elif operator in ("&&", "||", "??"):
                result = logical(operator, lambda scope: before, lambda scope: value)(scope)
            else:
                result = calculated(operator, before, value)
            put(scope, result)
            return result

        return assign

    def _ternary(self, node: Node) -> Expression:
        condition = self.expression(field(node, "condition"))
        first, second = self.expression(field(node, "consequence")), self.expression(field(node, "alternative"))

        def choose(scope: Scope) -> Value:
            value = condition(scope)
            if isinstance(value, Host) and not value.is_root:
                second(scope)
                return first(scope)
            return first(scope) if is_truthy(value) else second(scope)

        return choose

    def _member(self, node: Node) -> Expression:
        read, name = self.expression(field(node, "object")), self.text(node.child_by_field_name("property"))
        get = self.machine.get
        return lambda scope: get(read(scope), name)

    def _subscript(self, node: Node) -> Expression:
        read, index = self.expression(field(node, "object")), self.expression(field(node, "index"))
        get = self.machine.get
        return lambda scope: get(read(scope), index(scope))

    def _call(self, node: Node) -> Expression:
        function, arguments = field(node, "function"), self._arguments(node.child_by_field_name("arguments"))
        machine = self.machine
        while function.type == "parenthesized_expression" and function.named_children:
            function = function.named_children[0]
        if function.type not in ("member_expression", "subscript_expression"):
            read = self.expression(function)
            return lambda scope: machine.call(read(scope), UNDEFINED, arguments(scope))
        owner = self.expression(field(function, "object"))
        is_named = function.type == "member_expression"
        key = (
            constant(self.text(function.child_by_field_name("property")))
            if is_named
            else self.expression(field(function, "index"))
        )

        def call(scope: Scope) -> Value:
            this = owner(scope)
            return machine.call(machine.get(this, key(scope)), this, arguments(scope))

        return call

    def _arguments(self, node: Node | None) -> Callable[[Scope], list[Value]]:
        if node is None or node.type != "arguments":
            return lambda scope: []
        items = [
            (
                self.expression(one.named_children[0] if one.type == "spread_element" and one.named_children else one),
                one.type == "spread_element",
            )
            for one in node.named_children
            if one.type not in IGNORED
        ]
        return lambda scope: list(spread(items, scope))

    def _new(self, node: Node) -> Expression:
        read, arguments = (
            self.expression(field(node, "constructor")),
            self._arguments(node.child_by_field_name("arguments")),
        )
        machine = self.machine

        def make(scope: Scope) -> Value:
            constructor = read(scope)
            if isinstance(constructor, Host):
                return machine.call_host(constructor, arguments(scope), is_new=True)
            if not isinstance(constructor, JsFunction):
                return UNKNOWN
            prototype = constructor.properties.get("prototype")
            made = JsObject(prototype=prototype if isinstance(prototype, JsObject) else None)
            result = machine.call(constructor, made, arguments(scope))
            return result if isinstance(result, JsObject | str) else made

        return make

    def _this(self, _: Node) -> Expression:
        machine = self.machine

        def read(scope: Scope) -> Value:
            this = scope.this
            return machine.globals["globalThis"] if this is UNDEFINED or this is None else this

        return read

    # -- places that a value is put into

    def place(self, node: Node, *, is_new: bool = False) -> Place:
        """Compile the left side of an assignment or a declaration."""
        if node.type in ("identifier", "shorthand_property_identifier_pattern", "undefined"):
            return self._name_place(self.text(node), is_new=is_new)
        if node.type == "parenthesized_expression" and node.named_children:
            return self.place(node.named_children[0], is_new=is_new)
        if node.type in ("member_expression", "subscript_expression"):
            owner = self.expression(field(node, "object"))
            is_named = node.type == "member_expression"
            key = (
                constant(self.text(node.child_by_field_name("property")))
                if is_named
                else self.expression(field(node, "index"))
            )
            return lambda scope, value: self.machine.set(owner(scope), key(scope), value)
        if node.type in ("array_pattern", "array", "object_pattern", "object"):
            return self._pattern_place(node, is_new=is_new)
        if node.type == "assignment_pattern":
            return self.place(field(node, "left"), is_new=is_new)
        return lambda scope, value: None

    def _name_place(self, name: str, *, is_new: bool) -> Place:
        def declare(scope: Scope, value: Value) -> None:
            scope.variables[name] = value

        def assign(scope: Scope, value: Value) -> None:
            holder = scope.holder(name)
            (self.machine.globals if holder is None else holder)[name] = value
            if name == "location":
                self.machine.global_set(name, value)

        return declare if is_new else assign

    def _pattern_place(self, node: Node, *, is_new: bool) -> Place:
        parts: list[tuple[str | int, Place]] = []
        for index, one in enumerate(node.named_children):
            if one.type in ("pair_pattern", "pair"):
                parts.append(
                    (self.text(one.child_by_field_name("key")), self.place(field(one, "value"), is_new=is_new))
                )
            else:
                target = one.named_children[0] if one.type == "object_assignment_pattern" else one
                parts.append(
                    (index if node.type.startswith("array") else self.text(target), self.place(target, is_new=is_new))
                )

        def put(scope: Scope, value: Value) -> None:
            for key, place in parts:
                place(scope, UNKNOWN if value is UNDEFINED or value is None else self.machine.get(value, key))

        return put


_COMPARISONS = frozenset(["==", "===", "!=", "!==", "<", ">", "<=", ">="])


_STATEMENTS: dict[str, Callable[[Compiler, Node], Statement]] = {
    "expression_statement": Compiler._expression_statement,
    "statement_block": Compiler._statement_block,
    "program": Compiler._statement_block,
    "variable_declaration": Compiler._declaration,
    "lexical_declaration": Compiler._declaration,
    "if_statement": Compiler._if,
    "for_statement": Compiler._for,
    "for_in_statement": Compiler._for_in,
    "while_statement": Compiler._while,
    "do_statement": Compiler._while,
    "switch_statement": Compiler._switch,
    "try_statement": Compiler._try,
    "return_statement": Compiler._return,
    "break_statement": Compiler._leave,
    "continue_statement": Compiler._leave,
    "labeled_statement": Compiler._labelled,
    "throw_statement": Compiler._throw,
    "with_statement": Compiler._with,
    "export_statement": Compiler._export,
    **{name: (lambda _self, _node: nothing) for name in IGNORED},
}
_EXPRESSIONS: dict[str, Callable[[Compiler, Node], Expression]] = {
    "identifier": Compiler._identifier,
    "string": Compiler._string,
    "template_string": Compiler._template,
    "number": Compiler._number,
    "regex": Compiler._regex,
    "true": lambda _self, _node: constant(value=True),
    "false": lambda _self, _node: constant(value=False),
    "null": lambda _self, _node: constant(None),
    "undefined": lambda _self, _node: constant(UNDEFINED),
    "this": Compiler._this,
    "array": Compiler._array,
    "object": Compiler._object,
    "function_expression": Compiler._function_expression,
    "arrow_function": Compiler._function_expression,
    "generator_function": Compiler._function_expression,
    "parenthesized_expression": Compiler._inner,
    "await_expression": Compiler._inner,
    "yield_expression": Compiler._inner,
    "spread_element": Compiler._inner,
    "expression_statement": Compiler._inner,
    "sequence_expression": Compiler._sequence,
    "binary_expression": Compiler._binary,
    "unary_expression": Compiler._unary,
    "update_expression": Compiler._update,
    "assignment_expression": Compiler._assignment,
    "augmented_assignment_expression": Compiler._augmented,
    "ternary_expression": Compiler._ternary,
    "member_expression": Compiler._member,
    "subscript_expression": Compiler._subscript,
    "call_expression": Compiler._call,
    "new_expression": Compiler._new,
}
