import sys

import pytest

from proctor import plugins
from proctor.errors import SuiteError
from proctor.plugins import Plugin, find_plugins, load_plugin

GROUP = "proctor.assertions"
ENTRY = f"[{GROUP}]\npolite = acme_checks:Polite\n"


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Two site directories with nothing in them."""
    folders = [tmp_path / "first", tmp_path / "second"]
    monkeypatch.setattr(plugins, "_site_directories", lambda: [str(one) for one in folders])
    find_plugins.cache_clear()
    yield folders
    find_plugins.cache_clear()


def install(folder, name="acme-checks", version="1.2.0", entries=ENTRY, metadata=None):
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    if metadata is None:
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    (info / "METADATA").write_text(metadata)
    if entries is not None:
        (info / "entry_points.txt").write_text(entries)


def found(group=GROUP):
    return [(one.name, one.package, one.version, one.reference) for one in find_plugins(group)]


def test_nothing_is_found_where_nothing_is_installed(site):
    assert found() == []


def test_entry_points_are_found_and_sorted(site):
    install(
        site[1],
        entries="[console_scripts]\nacme = acme:main\n"
        f"[{GROUP}]\npolite = acme_checks:Polite\nKind = acme_checks.more:Kinds.Kind [extra]\n",
    )
    install(site[0], name="zeta", version="0.1", entries=f"[{GROUP}]\nalpha=zeta : Alpha\n")
    install(site[0], name="plain", entries=None)
    install(site[0], name="tool", entries="[console_scripts]\ntool = tool:main\n")
    assert found() == [
        ("Kind", "acme-checks", "1.2.0", "acme_checks.more:Kinds.Kind [extra]"),
        ("alpha", "zeta", "0.1", "zeta : Alpha"),
        ("polite", "acme-checks", "1.2.0", "acme_checks:Polite"),
    ]
    assert found("console_scripts")[0][0] == "acme"


def test_of_a_package_installed_twice_the_first_counts(site):
    install(site[0], version="2.0", name="Acme.Checks")
    install(site[1], version="1.0", name="acme-checks")
    assert [(package, version) for _, package, version, _ in found()] == [("Acme.Checks", "2.0")]


@pytest.mark.parametrize(
    ("entries", "metadata"),
    [
        ("polite = acme_checks:Polite\n", None),
        (f"# {GROUP}\n", None),
        (f"[{GROUP}\npolite", None),
        (ENTRY, ""),
        (ENTRY, "Version: 1\n"),
    ],
)
def test_a_package_that_cannot_be_read_brings_nothing(site, entries, metadata):
    install(site[0], entries=entries, metadata=metadata)
    assert found() == []


def test_a_package_without_a_version_is_there(site):
    install(site[0], metadata="Name: acme\n")
    assert found() == [("polite", "acme", "?", "acme_checks:Polite")]


@pytest.mark.parametrize(("user_site", "folders"), [(False, ["a", "b"]), (True, ["a", "b", "u"])])
def test_only_site_directories_are_looked_into(monkeypatch, user_site, folders):
    monkeypatch.setattr(plugins.site, "getsitepackages", lambda: ["a", "b", "a"])
    monkeypatch.setattr(plugins.site, "getusersitepackages", lambda: "u")
    monkeypatch.setattr(plugins.site, "ENABLE_USER_SITE", user_site)
    assert plugins._site_directories() == folders


def test_the_part_is_what_the_reference_names():
    plugin = Plugin("join", "acme", "1", "os : path.join [extra]")
    import os.path

    assert load_plugin(plugin) is os.path.join


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        ("os.path", "`os.path` is not `module:name`"),
        ("no_such_module_here:A", "ModuleNotFoundError: No module named 'no_such_module_here'"),
        ("os:nothing", "AttributeError: module 'os' has no attribute 'nothing'"),
        ("proctor_test_raising:A", "ZeroDivisionError"),
        ("proctor_test_leaving:A", "SystemExit"),
    ],
)
def test_a_part_that_cannot_be_imported_is_a_clear_problem(tmp_path, monkeypatch, reference, why):
    (tmp_path / "proctor_test_raising.py").write_text("1 / 0\n")
    (tmp_path / "proctor_test_leaving.py").write_text("raise SystemExit(0)\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    with pytest.raises(SuiteError) as caught:
        load_plugin(Plugin("polite", "acme", "1", reference))
    assert caught.value.code == "P6201"
    assert caught.value.message == f"the plugin `acme 1` cannot give `polite`: {why}"
    assert caught.value.hint == "install another version of `acme`"
