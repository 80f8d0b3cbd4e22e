"""Which configuration holds where, what it may say, and what is said of one that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchrepro_lint.settings import Settings, SettingsError, SettingsResolver

KNOWN = {
    "TRP001": "syntax-error",
    "TRP101": "unseeded-program",
    "TRP102": "nonconstant-seed",
    "TRP201": "loader-without-generator",
    "TRP408": "reduced-precision-matmul",
}
OFF = {"TRP408"}
DEFAULT = set(KNOWN) - OFF


def write(folder: Path, text: str, name: str = "torchrepro-lint.toml") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text)
    return path


@pytest.fixture(autouse=True)
def _in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages name files from the current folder."""
    monkeypatch.chdir(tmp_path)


def resolve(path: Path, **options: object) -> Settings:
    return SettingsResolver(KNOWN, **options).for_path(path)  # type: ignore[arg-type]


def enabled(path: Path, **overrides: object) -> set[str]:
    named = {key.replace("_", "-"): value for key, value in overrides.items()}
    return set(resolve(path, overrides=named).enabled(DEFAULT, KNOWN))


def refusal(folder: Path, text: str, name: str = "torchrepro-lint.toml") -> str:
    write(folder, text, name)
    with pytest.raises(SettingsError) as caught:
        resolve(folder / "a.py")
    return str(caught.value)


class TestWhichFile:
    def test_without_any_the_defaults_hold(self, tmp_path: Path) -> None:
        settings = resolve(tmp_path / "a.py")
        assert (settings.select, settings.seed, settings.torch) == (None, 0, None)
        assert ".venv" in settings.exclude

    def test_the_closest_wins_whole(self, tmp_path: Path) -> None:
        write(tmp_path, "seed = 1\ntorch = '2.1'\n")
        write(tmp_path / "sub", "seed = 2\n")
        resolver = SettingsResolver(KNOWN)
        assert resolver.for_path(tmp_path / "a.py").seed == 1
        below = resolver.for_path(tmp_path / "sub/deep/er/a.py")
        assert (below.seed, below.torch, below.base) == (2, None, tmp_path / "sub")

    def test_a_folder_is_asked_like_a_file_in_it(self, tmp_path: Path) -> None:
        write(tmp_path / "sub", "seed = 2\n")
        resolver = SettingsResolver(KNOWN)
        assert resolver.for_path(tmp_path / "sub") == resolver.for_path(tmp_path / "sub/a.py")
        assert resolver.for_path(tmp_path).seed == 0

    def test_pyproject_counts_only_with_our_table(self, tmp_path: Path) -> None:
        write(tmp_path, "[tool.torchrepro-lint]\nseed = 1\n", "pyproject.toml")
        write(tmp_path / "sub", "[tool.ruff]\nline-length = 3\n", "pyproject.toml")
        write(tmp_path / "sub/other", "[tool.ruff]\nexternal = ['torchrepro-lint']\n", "pyproject.toml")
        assert resolve(tmp_path / "sub/other/a.py").seed == 1

    def test_an_empty_table_is_a_configuration(self, tmp_path: Path) -> None:
        write(tmp_path, "seed = 1\n")
        write(tmp_path / "sub", "[tool.torchrepro-lint]\n", "pyproject.toml")
        assert resolve(tmp_path / "sub/a.py").seed == 0

    def test_our_own_file_goes_before_pyproject(self, tmp_path: Path) -> None:
        write(tmp_path, "[tool.torchrepro-lint]\nseed = 1\n", "pyproject.toml")
        write(tmp_path, "seed = 2\n")
        assert resolve(tmp_path / "a.py").seed == 2

    def test_isolated_reads_none(self, tmp_path: Path) -> None:
        write(tmp_path, "seed = ")
        assert resolve(tmp_path / "a.py", isolated=True, overrides={"seed": 3}).seed == 3

    def test_a_named_file_is_used_for_everything(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write(tmp_path / "here", "seed = 1\n")
        config = write(tmp_path, "[tool.torchrepro-lint]\nseed = 5\n", "pyproject.toml")
        monkeypatch.chdir(tmp_path / "here")
        settings = resolve(tmp_path / "here/a.py", config=Path("../pyproject.toml"))
        assert (settings.seed, settings.base) == (5, tmp_path / "here")
        assert config.exists()

    def test_a_named_file_must_exist_and_speak_of_us(self, tmp_path: Path) -> None:
        with pytest.raises(SettingsError, match=r"none\.toml: cannot be read: No such file"):
            resolve(tmp_path, config=tmp_path / "none.toml")
        other = write(tmp_path, "[tool.ruff]\n", "pyproject.toml")
        with pytest.raises(SettingsError, match=r"has no \[tool\.torchrepro-lint\] table"):
            resolve(tmp_path, config=other)

    def test_origins_name_file_and_key(self, tmp_path: Path) -> None:
        write(tmp_path, "[tool.torchrepro-lint]\nseed = 1\n", "pyproject.toml")
        settings = resolve(tmp_path / "a.py", overrides={"torch": "2.1"})
        assert settings.origin("seed") == "pyproject.toml [tool.torchrepro-lint] seed"
        assert settings.origin("torch") == "--torch"
        assert settings.origin("ignore") == "the default"


class TestExtend:
    def test_what_is_not_said_comes_from_the_extended_file(self, tmp_path: Path) -> None:
        write(tmp_path, "seed = 1\nignore = ['TRP101']\nextend-exclude = ['old']\n", "base.toml")
        write(
            tmp_path / "sub",
            "extend = '../base.toml'\ntorch = '2.1'\nextend-exclude = ['new']\nignore = ['TRP2']\n",
        )
        settings = resolve(tmp_path / "sub/a.py")
        assert (settings.seed, settings.torch, settings.base) == (1, "2.1", tmp_path / "sub")
        assert settings.ignore == ("TRP101", "TRP2")
        assert settings.extend_exclude == ("old", "new")
        assert settings.origin("seed") == "base.toml seed"

    def test_select_starts_anew(self, tmp_path: Path) -> None:
        write(tmp_path, "select = ['TRP1']\nignore = ['TRP102']\n", "base.toml")
        write(tmp_path, "extend = 'base.toml'\nselect = ['TRP1']\n")
        assert enabled(tmp_path / "a.py") == {"TRP101", "TRP102"}

    def test_a_circle_is_told(self, tmp_path: Path) -> None:
        write(tmp_path, "extend = 'torchrepro-lint.toml'\n", "b.toml")
        message = refusal(tmp_path, "extend = 'b.toml'\n")
        assert message.startswith("b.toml extend: a circle of files: ")
        assert message.count("torchrepro-lint.toml") == 2

    def test_a_missing_file_is_told(self, tmp_path: Path) -> None:
        message = refusal(tmp_path, "extend = 'none.toml'\n")
        assert message == "torchrepro-lint.toml extend: no such file: none.toml"


class TestSelection:
    @pytest.mark.parametrize(
        ("text", "codes"),
        [
            ("", DEFAULT),
            ("select = ['ALL']", set(KNOWN)),
            ("select = ['TRP1']", {"TRP101", "TRP102"}),
            ("select = ['trp1', 'Loader-Without-Generator']", {"TRP101", "TRP102", "TRP201"}),
            ("select = []", set()),
            ("ignore = ['TRP']", set()),
            ("ignore = ['ALL']", set()),
            ("select = ['TRP101']\nignore = ['TRP1']", {"TRP101"}),
            ("select = ['TRP1']\nignore = ['TRP101']", {"TRP102"}),
            ("select = ['TRP1']\nignore = ['TRP1']", set()),
            ("extend-select = ['TRP408']", set(KNOWN)),
            ("select = ['TRP1']\nextend-select = ['TRP4']\nignore = ['ALL']", {"TRP101", "TRP102", "TRP408"}),
        ],
    )
    def test_the_longest_selector_wins(self, tmp_path: Path, text: str, codes: set[str]) -> None:
        write(tmp_path, text)
        assert enabled(tmp_path / "a.py") == codes

    def test_the_command_line_goes_over_the_file(self, tmp_path: Path) -> None:
        write(tmp_path, "select = ['TRP101', 'TRP201']\nignore = ['TRP408']\n")
        file = tmp_path / "a.py"
        assert enabled(file, ignore=["TRP1"]) == {"TRP201"}
        assert enabled(file, extend_select=["TRP4"]) == {"TRP101", "TRP201", "TRP408"}
        assert enabled(file, select=["TRP102", "TRP408"]) == {"TRP102", "TRP408"}

    def test_per_file_ignores(self, tmp_path: Path) -> None:
        write(
            tmp_path,
            "[per-file-ignores]\n'tests/*' = ['TRP1']\n'*_demo.py' = ['loader-without-generator']\n'/c.py' = ['ALL']\n",
        )
        settings = resolve(tmp_path / "a.py")
        assert settings.ignored_in(tmp_path / "tests/x/y.py", KNOWN) == {"TRP101", "TRP102"}
        assert settings.ignored_in("src/a_demo.py", KNOWN) == {"TRP201"}
        assert settings.ignored_in(tmp_path / "c.py", KNOWN) == set(KNOWN)
        assert settings.ignored_in(tmp_path / "src/c.py", KNOWN) == set()

    def test_settings_can_be_compared_and_kept_in_a_set(self, tmp_path: Path) -> None:
        write(tmp_path, "[per-file-ignores]\n'a' = ['TRP1']\n")
        assert len({resolve(tmp_path / "a.py"), resolve(tmp_path / "b.py")}) == 1


class TestRefusals:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("selekt = []", "selekt: unknown key; did you mean 'select'?"),
            ("seed_functions = []", "seed_functions: unknown key; did you mean 'seed-functions'?"),
            ("qqq = 1", "qqq: unknown key"),
            ("base = 1", "base: unknown key"),
            ("select = 'TRP1'", "select: must be a list of strings, not 'TRP1'"),
            ("ignore = [1]", "ignore: must be a list of strings, not a list of other things"),
            ("select = ['TRP1O1']", "select: unknown rule 'TRP1O1'; did you mean 'TRP101'?"),
            ("select = ['unseeded']", "select: unknown rule 'unseeded'; did you mean 'unseeded-program'?"),
            ("select = ['']", "select: unknown rule ''"),
            ("select = ['E501']", "select: unknown rule 'E501'"),
            ("seed = true", "seed: must be a whole number from 0 to 4294967295, not True"),
            ("seed = -1", "seed: must be a whole number from 0 to 4294967295, not -1"),
            ("seed = {}", "seed: must be a whole number from 0 to 4294967295, not a table"),
            ("torch = 2.1", "torch: must be a string, not 2.1"),
            ("torch = 'new'", "torch: 'new' is not a version such as '2.4' or '>=2.1,<2.5'"),
            ("loader_classes = []", "loader_classes: unknown key; did you mean 'loader-classes'?"),
            ("rng-function = []", "rng-function: unknown key; did you mean 'rng-functions'?"),
            ("loader-classes = ['a:torch']", "loader-classes: 'a:torch' is not a dotted name such as"),
            ("rng-functions = ['a:cuda']", "rng-functions: 'a:cuda' is not a dotted name such as 'package.jitter"),
            ("seed-functions = ['a b']", "seed-functions: 'a b' is not a dotted name such as"),
            ("per-file-ignores = []", "per-file-ignores: must be a table of patterns"),
            ("per-file-ignores = {'a' = ['TRP9']}", "per-file-ignores 'a': unknown rule 'TRP9'"),
            ("extend = ['a']", "extend: must be a string, not a list of other things"),
        ],
    )  # fmt: skip
    def test_wrong_values(self, tmp_path: Path, text: str, message: str) -> None:
        assert refusal(tmp_path, text).startswith(f"torchrepro-lint.toml {message}")

    def test_in_pyproject_the_table_is_named(self, tmp_path: Path) -> None:
        message = refusal(tmp_path, "[tool.torchrepro-lint]\nselekt = []\n", "pyproject.toml")
        assert message == "pyproject.toml [tool.torchrepro-lint] selekt: unknown key; did you mean 'select'?"

    @pytest.mark.parametrize("name", ["torchrepro_lint", "torchrepro", "torchreprolint"])
    def test_a_table_by_nearly_our_name(self, tmp_path: Path, name: str) -> None:
        message = refusal(tmp_path, f"[tool.{name}]\nseed = 1\n", "pyproject.toml")
        assert message == f"pyproject.toml: [tool.{name}] is not read; did you mean [tool.torchrepro-lint]?"

    def test_the_header_of_a_pyproject_in_our_own_file(self, tmp_path: Path) -> None:
        message = refusal(tmp_path, "[tool.torchrepro-lint]\nseed = 1\n")
        assert message == "torchrepro-lint.toml: leave out [tool.torchrepro-lint], which is for pyproject.toml"

    @pytest.mark.parametrize(("below", "shown"), [("sub", "../torchrepro-lint.toml"), (".", "torchrepro-lint.toml")])
    def test_a_file_is_named_from_the_current_folder(
        self, below: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / below).mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path / below)
        assert refusal(tmp_path, "seed = 'a'\n").startswith(f"{shown} seed: must be")

    def test_our_table_must_be_one(self, tmp_path: Path) -> None:
        assert "must be a table" in refusal(tmp_path, "[tool]\ntorchrepro-lint = 3\n", "pyproject.toml")

    def test_flags_are_named_as_flags(self, tmp_path: Path) -> None:
        with pytest.raises(SettingsError, match=r"^--select: unknown rule 'TRP1O1'; did you mean 'TRP101'\?$"):
            resolve(tmp_path, overrides={"select": ("TRP1O1",)})

    def test_broken_toml_has_line_and_column(self, tmp_path: Path) -> None:
        message = refusal(tmp_path, "[tool.torchrepro-lint]\r\nseed 1\n", "pyproject.toml")
        assert message.startswith("pyproject.toml:2:6: broken TOML: ")
        assert "(at line" not in message

    def test_toml_that_ends_early_has_its_last_line(self, tmp_path: Path) -> None:
        message = refusal(tmp_path, "seed = 1\nselect = [")
        assert message.startswith("torchrepro-lint.toml:2:")

    def test_toml_in_another_encoding(self, tmp_path: Path) -> None:
        (tmp_path / "torchrepro-lint.toml").write_bytes(b"seed = 1\n# \xe9\n")
        with pytest.raises(SettingsError, match=r"torchrepro-lint\.toml:2: is not UTF-8"):
            resolve(tmp_path / "a.py")


def test_a_pyproject_of_others_may_be_broken(tmp_path: Path) -> None:
    write(tmp_path, "[tool.ruff\n", "pyproject.toml")
    assert resolve(tmp_path / "a.py").select is None
