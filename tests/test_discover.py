"""Which files a run reads, on real folders."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from torchrepro_lint.discover import Discovery, discover, project_root, python_files
from torchrepro_lint.settings import Settings, SettingsResolver

KNOWN = {"TRP101": "unseeded-program"}


def make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n")


def find(*paths: Path, force_exclude: bool = False, settings: Settings | None = None) -> Discovery:
    resolver = SettingsResolver(KNOWN)
    settings_for = resolver.for_path if settings is None else lambda _: settings
    return discover(paths, settings_for, force_exclude=force_exclude)


def names(files: Iterable[Path], root: Path) -> list[str]:
    return [file.relative_to(root).as_posix() for file in files]


def test_finds_python_stubs_and_notebooks_sorted(tmp_path: Path) -> None:
    make(tmp_path, "b.py", "a/z.pyi", "a/n.ipynb", "a/readme.md", "a/x.pyc", "a.py", "a/b/c.py")
    assert names(find(tmp_path).files, tmp_path) == ["a/b/c.py", "a/n.ipynb", "a/z.pyi", "a.py", "b.py"]


@pytest.mark.parametrize(
    ("line", "mode", "found"),
    [
        ("#!/usr/bin/env python3", 0o755, True),
        ("#!/usr/bin/python3.11 -u", 0o755, True),
        ("#!/usr/bin/env -S uv run --script", 0o755, True),
        ("#!/bin/sh", 0o755, False),
        ("#!/usr/bin/env python3", 0o644, False),
        ("x = 'python'", 0o755, False),
    ],
)
def test_a_script_without_suffix_needs_a_shebang_and_the_right_to_run(
    tmp_path: Path, line: str, mode: int, found: bool
) -> None:
    script = tmp_path / "train"
    script.write_text(line + "\n")
    script.chmod(mode)
    assert (find(tmp_path).files == (script,)) is found


def test_default_excludes(tmp_path: Path) -> None:
    make(
        tmp_path,
        ".venv/a.py",
        "x/node_modules/a.py",
        "build/a.py",
        "x/y.egg-info/a.py",
        ".git/a.py",
        "x/built/a.py",
    )
    assert names(find(tmp_path).files, tmp_path) == ["x/built/a.py"]


def test_a_named_file_or_folder_is_not_excluded_unless_forced(tmp_path: Path) -> None:
    make(tmp_path, "pyproject.toml", "build/a.py", "build/b/c.py", "ok.py")
    file, folder = tmp_path / "build/a.py", tmp_path / "build/b"
    assert names(find(file, folder, tmp_path / "ok.py").files, tmp_path) == [
        "build/a.py",
        "build/b/c.py",
        "ok.py",
    ]
    assert names(find(file, folder, tmp_path / "ok.py", force_exclude=True).files, tmp_path) == ["ok.py"]


def test_forcing_does_not_look_above_the_project(tmp_path: Path) -> None:
    make(tmp_path, "build/project/pyproject.toml", "build/project/a.py")
    assert len(find(tmp_path / "build/project/a.py", force_exclude=True).files) == 1


def test_a_named_file_may_have_any_name(tmp_path: Path) -> None:
    make(tmp_path, "train.txt")
    assert names(find(tmp_path / "train.txt").files, tmp_path) == ["train.txt"]


def test_excludes_of_the_closest_configuration_are_relative_to_it(tmp_path: Path) -> None:
    make(tmp_path, "old/a.py", "sub/old/a.py", "sub/new/old/a.py", "sub/gen_1.py")
    (tmp_path / "torchrepro-lint.toml").write_text("extend-exclude = ['/old']\n")
    (tmp_path / "sub/torchrepro-lint.toml").write_text("extend-exclude = ['new/old', 'gen_*.py']\n")
    assert names(find(tmp_path).files, tmp_path) == ["sub/old/a.py"]


def test_missing_paths_are_told_and_others_found(tmp_path: Path) -> None:
    make(tmp_path, "a.py")
    (tmp_path / "broken.py").symlink_to("nowhere.py")
    found = find(tmp_path / "none.py", tmp_path / "a.py", tmp_path / "broken.py")
    assert names(found.missing, tmp_path) == ["broken.py", "none.py"]
    assert names(found.files, tmp_path) == ["a.py"]


def test_a_folder_without_python_is_no_error(tmp_path: Path) -> None:
    make(tmp_path, "readme.md")
    found = find(tmp_path)
    assert (found.files, found.missing, found.unreadable) == ((), (), ())


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder for somebody who is not root, and the rest of the test as that somebody."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        if os.geteuid() != 0:
            yield folder
            return
        os.seteuid(65534)
        try:
            yield folder
        finally:
            os.seteuid(0)


@pytest.fixture
def locked(shared: Path) -> Iterator[Path]:
    euid = os.geteuid()
    os.seteuid(os.getuid())
    make(shared, "a.py", "secret/b.py")
    (shared / "secret").chmod(0)
    os.seteuid(euid)
    yield shared
    os.seteuid(os.getuid())
    (shared / "secret").chmod(0o755)


def test_an_unreadable_folder_is_told(locked: Path) -> None:
    found = find(locked)
    assert names(found.files, locked) == ["a.py"]
    assert found.unreadable == ((locked / "secret", "Permission denied"),)


def test_a_path_in_an_unreadable_folder_is_missing(locked: Path) -> None:
    assert names(find(locked / "secret/b.py", force_exclude=True).missing, locked) == ["secret/b.py"]


def test_a_folder_whose_path_is_too_long_is_told(tmp_path: Path) -> None:
    make(tmp_path, "a.py")
    here = os.getcwd()  # noqa: PTH109
    try:
        os.chdir(tmp_path)
        for _ in range(20):
            os.mkdir("d" * 250)  # noqa: PTH102
            os.chdir("d" * 250)
    finally:
        os.chdir(here)
    found = find(tmp_path)
    assert names(found.files, tmp_path) == ["a.py"]
    assert [reason for _, reason in found.unreadable] == ["File name too long"]


class TestLinks:
    def test_a_link_to_a_file_that_is_found_anyway_counts_once(self, tmp_path: Path) -> None:
        make(tmp_path, "z/real.py")
        (tmp_path / "a.py").symlink_to("z/real.py")
        assert names(find(tmp_path).files, tmp_path) == ["z/real.py"]

    def test_a_link_to_a_file_elsewhere_counts_under_its_own_name(self, tmp_path: Path) -> None:
        make(tmp_path, "outside/real.py", "pyproject.toml")
        (tmp_path / "pyproject.toml").write_text("")
        (tmp_path / "in").mkdir()
        (tmp_path / "in/a.py").symlink_to("../outside/real.py")
        (tmp_path / "in/b.py").symlink_to("../outside/real.py")
        assert names(find(tmp_path / "in").files, tmp_path) == ["in/a.py"]

    def test_loops_end(self, tmp_path: Path) -> None:
        make(tmp_path, "p/__init__.py", "p/q/__init__.py")
        (tmp_path / "p/q/loop").symlink_to("../../p")
        (tmp_path / "p/self").symlink_to("self")
        assert names(find(tmp_path).files, tmp_path) == ["p/__init__.py", "p/q/__init__.py"]

    def test_a_linked_package_is_entered_and_a_linked_data_folder_is_not(self, tmp_path: Path) -> None:
        make(tmp_path, "far/lib/__init__.py", "far/lib/m.py", "far/data/x.py", "in/a.py", "setup.py")
        (tmp_path / "in/lib").symlink_to(tmp_path / "far/lib")
        (tmp_path / "in/data").symlink_to(tmp_path / "far/data")
        assert names(find(tmp_path / "in").files, tmp_path) == [
            "in/a.py",
            "in/lib/__init__.py",
            "in/lib/m.py",
        ]

    def test_a_link_out_of_the_project_is_followed_only_if_it_is_named(self, tmp_path: Path) -> None:
        make(tmp_path, "outside/real.py", "outside/lib/__init__.py", "in/setup.py")
        file, folder = tmp_path / "in/a.py", tmp_path / "in/lib"
        file.symlink_to(tmp_path / "outside/real.py")
        folder.symlink_to(tmp_path / "outside/lib")
        found = find(tmp_path / "in")
        assert names(found.files, tmp_path) == ["in/setup.py"]
        assert found.outside == (file, folder)
        assert names(python_files(tmp_path / "in", Settings(tmp_path)), tmp_path) == ["in/setup.py"]
        named = find(tmp_path / "in", file, folder)
        assert names(named.files, tmp_path) == ["in/a.py", "in/lib/__init__.py", "in/setup.py"]
        assert named.outside == ()

    def test_a_package_is_known_by_its_real_name_first(self, tmp_path: Path) -> None:
        make(tmp_path, "z/__init__.py")
        (tmp_path / "a").symlink_to("z")
        assert names(find(tmp_path).files, tmp_path) == ["z/__init__.py"]

    def test_the_same_file_named_in_several_ways_counts_once(self, tmp_path: Path) -> None:
        make(tmp_path, "a.py", "d/b.py")
        (tmp_path / "link.py").symlink_to("a.py")
        found = find(tmp_path / "d/../a.py", tmp_path / "link.py", tmp_path / "a.py", tmp_path, tmp_path / "d")
        assert names(found.files, tmp_path) == ["a.py", "d/b.py"]


class TestGitignore:
    @pytest.fixture
    def repository(self, tmp_path: Path) -> Path:
        subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
        return tmp_path

    def test_nested_files_and_exceptions(self, repository: Path) -> None:
        make(repository, "a.py", "gen/a.py", "src/gen_x.py", "src/gen_y.py", "src/keep/gen_z.py", "src/own.py")
        (repository / ".gitignore").write_text("/gen/\ngen_*.py\n")
        (repository / "src/.gitignore").write_text("own.py\n!gen_y.py\n")
        (repository / "src/keep/.gitignore").write_text("!gen_z.py\n")
        wanted = ["a.py", "src/gen_y.py", "src/keep/gen_z.py"]
        assert names(find(repository).files, repository) == wanted
        others = ["ls-files", "--others", "--exclude-standard"]
        listed = subprocess.run(["git", *others], cwd=repository, check=True, capture_output=True, text=True)
        assert [name for name in sorted(listed.stdout.split()) if name.endswith(".py")] == wanted

    def test_rules_above_the_named_folder_hold(self, repository: Path) -> None:
        make(repository, "src/a/x.py", "src/a/tmp_1.py", "src/a/out/x.py")
        (repository / ".gitignore").write_text("tmp_*\n/src/a/out\n")
        assert names(find(repository / "src/a").files, repository) == ["src/a/x.py"]

    def test_private_excludes_hold(self, repository: Path) -> None:
        make(repository, "a.py", "mine.py")
        (repository / ".git/info/exclude").write_text("mine.py\n")
        assert names(find(repository).files, repository) == ["a.py"]

    def test_another_repository_inside_has_its_own_rules(self, repository: Path) -> None:
        make(repository, "sub/gen.py", "gen.py")
        (repository / ".gitignore").write_text("gen.py\n")
        subprocess.run(["git", "init", "-q", str(repository / "sub")], check=True)
        assert names(find(repository).files, repository) == ["sub/gen.py"]
        assert names(find(repository / "sub").files, repository) == ["sub/gen.py"]

    def test_without_a_repository_no_rules_hold(self, tmp_path: Path) -> None:
        """An archive of a revision has what git tracks, and is checked as the revision is."""
        make(tmp_path, "a.py", "data/gen.py")
        (tmp_path / ".gitignore").write_text("data/\n")
        assert names(find(tmp_path).files, tmp_path) == ["a.py", "data/gen.py"]
        assert names(find(tmp_path / "data", force_exclude=True).files, tmp_path) == ["data/gen.py"]

    @pytest.mark.parametrize("version", ["2", "3", "4"])
    @pytest.mark.parametrize("hashes", ["sha1", "sha256"])
    def test_what_git_tracks_counts_whatever_the_rules_say(self, tmp_path: Path, version: str, hashes: str) -> None:
        def git(*arguments: str) -> str:
            done = subprocess.run(["git", "-C", str(tmp_path), *arguments], check=True, capture_output=True, text=True)
            return done.stdout

        git("init", "-q", f"--object-format={hashes}")
        mine = ["a.py", "data/__init__.py", "data/sub/set.py", "data/sub/wörter.py", "datasets.py"]
        make(tmp_path, *mine, "data/raw.py", "data/new/x.py", "run_1.py", "own.py")
        (tmp_path / ".gitignore").write_text("data/\nown.py\nrun_*.py\n")
        (tmp_path / "data/.gitignore").write_text("!raw.py\n")  # in vain: the folder is left out
        git("add", "-f", "data/__init__.py", "data/sub", "own.py", "a.py", ".gitignore")
        if version == "3":
            make(tmp_path, "later.py")
            git("add", "-N", "later.py")
        git("update-index", "--index-version", version)
        assert (tmp_path / ".git/index").read_bytes()[4:8] == bytes((0, 0, 0, int(version)))
        wanted = sorted([*mine, "own.py", *["later.py"] * (version == "3")], key=lambda name: name.split("/"))
        assert names(find(tmp_path).files, tmp_path) == wanted
        listed = git("-c", "core.quotePath=false", "ls-files", "--cached", "--others", "--exclude-standard").split()
        assert sorted(name for name in listed if name.endswith(".py")) == sorted(wanted)
        every = [tmp_path / name for name in (*wanted, "data/raw.py", "data/new/x.py", "run_1.py")]
        assert names(find(*every, force_exclude=True).files, tmp_path) == wanted

    def test_a_worktree_has_an_index_of_its_own(self, repository: Path, tmp_path: Path) -> None:
        make(repository, "main/data/a.py", "main/setup.py")
        main, other = repository / "main", repository / "other"
        (main / ".gitignore").write_text("data/\n")
        for command in (
            "init -q",
            "add -f .",
            "-c user.name=a -c user.email=a commit -q -m a",
            f"worktree add -q {other}",
        ):
            subprocess.run(["git", "-C", str(main), *command.split()], check=True, capture_output=True)
        make(other, "data/new.py")
        assert names(find(other).files, other) == ["data/a.py", "setup.py"]

    @pytest.mark.parametrize("version", ["2", "4"])
    @pytest.mark.parametrize("cut", [0, 4, 11, 40, 74, 80, 200])
    def test_a_broken_index_tells_nothing(self, repository: Path, cut: int, version: str) -> None:
        make(repository, "data/a.py", "data/b.py", "c.py")
        (repository / ".gitignore").write_text("data/\n")
        for command in ("add -f .", f"update-index --index-version {version}"):
            subprocess.run(["git", "-C", str(repository), *command.split()], check=True)
        assert names(find(repository).files, repository) == ["c.py", "data/a.py", "data/b.py"]
        index = repository / ".git/index"
        index.write_bytes(index.read_bytes()[:cut])
        assert names(find(repository).files, repository) == ["c.py"]

    def test_a_named_file_is_ignored_only_if_forced(self, repository: Path) -> None:
        make(repository, "out/a.py", "sub/gen.py", "sub/other.py", "a.py")
        (repository / ".gitignore").write_text("out/\n")
        (repository / "sub/.gitignore").write_text("gen.py\nsub\n")
        every = [repository / name for name in ("out/a.py", "sub/gen.py", "sub/other.py", "a.py")]
        assert len(find(*every).files) == 4
        assert names(find(*every, force_exclude=True).files, repository) == ["a.py", "sub/other.py"]


class TestProjectRoot:
    @pytest.mark.parametrize("marker", ["pyproject.toml", "setup.py", "setup.cfg", "torchrepro-lint.toml", ".git"])
    def test_the_nearest_marker_above_all_paths(self, tmp_path: Path, marker: str) -> None:
        make(tmp_path, "setup.py", f"in/{marker}", "in/a/x.py", "in/b/y.py", "z.py")
        assert project_root([tmp_path / "in/a/x.py", tmp_path / "in/b"]) == tmp_path / "in"
        assert project_root([tmp_path / "in/a", tmp_path / "z.py"]) == tmp_path

    def test_without_a_marker_the_current_folder_or_the_common_one(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make(tmp_path, "w/a/x.py", "w/b/y.py", "other/z.py")
        monkeypatch.chdir(tmp_path / "w")
        assert project_root([Path("a"), Path("b/y.py")]) == tmp_path / "w"
        assert project_root([Path()]) == tmp_path / "w"
        assert project_root([]) == tmp_path / "w"
        assert project_root([Path("../other/z.py")]) == tmp_path / "other"
        assert project_root([Path("a"), Path("../other")]) == tmp_path

    def test_a_package_without_a_marker_is_taken_with_the_folder_that_it_is_imported_from(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        package = "{}/net/__init__.py {}/net/part/__init__.py {}/net/part/x.py {}/other/y.py"
        for place in ("code", "site-packages"):
            make(tmp_path, *package.replace("{}", place).split())
        make(tmp_path, "elsewhere/z.py")
        monkeypatch.chdir(tmp_path / "elsewhere")
        assert project_root([Path("../code/net/part/x.py")]) == tmp_path / "code"
        assert project_root([Path("../code/net")]) == tmp_path / "code"
        assert project_root([Path("../site-packages/net")]) == tmp_path / "site-packages/net"

    def test_a_path_that_does_not_exist_counts_as_a_file(self, tmp_path: Path) -> None:
        make(tmp_path, "setup.py")
        assert project_root([tmp_path / "not" / "yet.py"]) == tmp_path


def test_every_file_of_a_project_under_given_settings(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "b/c.py", "b/d.py", ".venv/e.py")
    settings = Settings(tmp_path, extend_exclude=("b/d.py",))
    assert names(python_files(tmp_path, settings), tmp_path) == ["a.py", "b/c.py"]


def test_what_is_found_is_the_whole_project_where_one_configuration_holds_everywhere(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "sub/b.py", "build/c.py")
    (tmp_path / "pyproject.toml").write_text("")
    whole = find(tmp_path)
    assert whole.is_whole
    assert whole.files == python_files(tmp_path, Settings(tmp_path))
    assert not find(tmp_path / "sub").is_whole
    assert not find(tmp_path, tmp_path / "build").is_whole
    (tmp_path / "sub/torchrepro-lint.toml").write_text('exclude = ["b.py"]')
    assert not find(tmp_path).is_whole
