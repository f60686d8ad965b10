"""Public names are complete, sorted and documented, and do not clash with modules."""

import doctest
import importlib.metadata
import inspect
import pkgutil
from types import FunctionType, ModuleType

import pytest

import seqloom
from seqloom.errors import SeqloomError


def public_modules() -> list[str]:
    """Return every module whose path has no private part."""
    found = pkgutil.walk_packages(seqloom.__path__, "seqloom.")
    return ["seqloom", *(m.name for m in found if "._" not in m.name)]


PUBLIC_MODULES = {name: importlib.import_module(name) for name in public_modules()}
PUBLIC_PACKAGES = [
    name for name, module in PUBLIC_MODULES.items() if hasattr(module, "__path__")
]


def names_of(package: str) -> list[str]:
    """Return the public names of a package, or no names for a plain folder."""
    return list(getattr(PUBLIC_MODULES[package], "__all__", []))


def is_ours(thing: object) -> bool:
    """Return whether a function or a class is defined in seqloom."""
    return isinstance(thing, FunctionType | type) and thing.__module__.startswith("seqloom")


def public_objects() -> dict[str, object]:
    """Return every public function and class, by its public path."""
    found = {
        f"{package}.{name}": getattr(PUBLIC_MODULES[package], name)
        for package in PUBLIC_PACKAGES
        for name in names_of(package)
    }
    return {path: thing for path, thing in found.items() if is_ours(thing)}


PUBLIC_OBJECTS = public_objects()


def shows_an_example(thing: object) -> bool:
    """Return whether a function, a class or one of its methods has a `>>>` example."""
    methods = vars(thing).values() if isinstance(thing, type) else ()
    documented = [thing, *(m for m in methods if isinstance(m, FunctionType))]
    parse = doctest.DocTestParser().get_examples
    return any(parse(inspect.getdoc(each) or "") for each in documented)


def test_the_version_attribute_equals_the_installed_package_version():
    assert seqloom.__version__ == importlib.metadata.version("seqloom")


@pytest.mark.parametrize("package", PUBLIC_PACKAGES)
def test_dunder_all_is_sorted(package: str):
    # Names in capitals are sorted first, as in the linter.
    by_case = sorted(names_of(package), key=lambda name: (not name.isupper(), name))
    assert names_of(package) == by_case


@pytest.mark.parametrize("package", PUBLIC_PACKAGES)
def test_dunder_all_is_complete(package: str):
    things = {
        key: thing for key, thing in vars(PUBLIC_MODULES[package]).items() if key[0] != "_"
    }
    assert {key for key, thing in things.items() if is_ours(thing)} <= set(
        names_of(package)
    )


@pytest.mark.parametrize("package", PUBLIC_PACKAGES)
def test_a_public_name_is_not_also_the_name_of_a_module(package: str):
    files = {found.name for found in pkgutil.iter_modules(PUBLIC_MODULES[package].__path__)}
    things = {key: getattr(PUBLIC_MODULES[package], key) for key in names_of(package)}
    assert [
        key for key in files & set(things) if not isinstance(things[key], ModuleType)
    ] == []


@pytest.mark.parametrize("name", sorted(PUBLIC_OBJECTS))
def test_public_names_have_a_docstring_with_an_example(name: str):
    assert shows_an_example(PUBLIC_OBJECTS[name])


def exceptions() -> list[type[BaseException]]:
    """Return every exception class that a module of seqloom defines."""
    names = [found.name for found in pkgutil.walk_packages(seqloom.__path__, "seqloom.")]
    modules = [importlib.import_module(name) for name in names if "__main__" not in name]
    things = [thing for module in modules for thing in vars(module).values()]
    classes = {thing for thing in things if isinstance(thing, type)}
    return [
        each
        for each in classes
        if issubclass(each, BaseException) and each.__module__.startswith("seqloom")
    ]


def test_every_exception_is_a_seqloom_error():
    assert [e for e in exceptions() if not issubclass(e, SeqloomError)] == []


def test_every_exception_except_the_base_derives_from_a_builtin():
    builtin = [
        e for e in exceptions() if any(b.__module__ == "builtins" for b in e.__mro__[1:-3])
    ]
    assert set(exceptions()) - set(builtin) <= {SeqloomError}


def test_the_docstring_of_the_errors_module_lists_every_exception():
    drawing = inspect.getdoc(seqloom.errors) or ""
    assert [e.__name__ for e in exceptions() if e.__name__ not in drawing] == []
