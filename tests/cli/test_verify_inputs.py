"""`verify` and the user's own call: what is run is what is written, and what is not is named."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from command_line import Run

torch = pytest.importorskip("torch")

UNUSUAL = """\
import torch
import torch.nn as nn
import torch.nn.functional as F

HEIGHT, WIDTH = 40, 50


def step(x, y, v, index, source, how, **options):
    a = F.interpolate(x, size=(40, 50), mode="bilinear")
    b = F.interpolate(x, scale_factor=[3, 2], mode="bicubic", align_corners=True)
    c = F.adaptive_avg_pool2d(x, (3, None))
    d = F.interpolate(x.bfloat16(), scale_factor=1.5, mode="bilinear", recompute_scale_factor=True)
    e = v.put_(index, source)
    f = F.max_unpool2d(x, index, kernel_size=(3, 5), stride=(1, 2), padding=1)
    g = nn.UpsamplingBilinear2d(scale_factor=3)(x)
    h = F.grid_sample(x.half(), y, mode="bicubic", padding_mode="reflection")
    i = F.avg_pool3d(v, 3, stride=(1, 2, 1), count_include_pad=False, divisor_override=7)
    j = F.interpolate(x, size=9, mode="area", antialias=how)
    k = F.fractional_max_pool2d(x, (2, 3), output_size=(11, 13))
    m = F.interpolate(x, size=(HEIGHT, WIDTH), mode="bicubic", align_corners=True)
    l = nn.ReflectionPad1d((600, 7))(v)
    (a.sum() + b.sum() + c.sum() + d.sum() + e.sum() + f.sum() + g.sum() + h.sum() + i.sum() + k.sum()).backward()
    (j.sum() + l.sum() + m.sum()).backward()
"""
RUN = [
    ", 20, 25) float32, size=(40, 50), mode=bilinear",
    "scale_factor=(3.0, 2.0), mode=bicubic, align_corners=True",
    "to (3, None); backward",
    "bfloat16, scale_factor=1.5, mode=bilinear, align_corners=False, recompute_scale_factor=True",
    "each named about 2000 times, accumulate=False",
    "indices of pooling with kernel (3, 5), stride (1, 2), padding (1, 1)",
    "scale_factor=3.0, mode=bilinear, align_corners=True",
    "float16, mode=bicubic, padding_mode=reflection, align_corners=False",
    "kernel (3, 3, 3), stride (1, 2, 1), padding=(0, 0, 0), ceil_mode=False, count_include_pad=False, divisor_override",
    "size=(9, 9), mode=area",
    "to (11, 13), kernel (2, 3)",
    "padded by (600, 7), mode=reflect",
]


@pytest.mark.usefixtures("forks")
def test_what_would_be_run_is_what_is_written(project: Path, run: Run) -> None:
    (project / "unusual.py").write_text(UNUSUAL)
    done = run("verify", "unusual.py", "--plan")
    text = done.stdout
    assert done.exit_code == 0, done.stderr
    for words in RUN:
        assert words in text, f"{words}\n{text}"
    assert "accumulate=True" not in text
    assert "not followed: size" in text  # its numbers are names
    assert "put (CUDA): run with PyTorch's default arguments" in text
    assert "run with mode='area', size=9 as written, the rest by default; not followed: antialias" in text
    assert "by estimate" in text.splitlines()[-1]


def test_a_finding_says_what_it_could_not_read(project: Path, run: Run) -> None:
    (project / "unusual.py").write_text(UNUSUAL)
    found = json.loads(run("check", "unusual.py", "--output-format", "json").stdout)
    said = {(f["properties"]["operation"], *f["properties"].get("unread", ()), f["properties"].get("dtype"))
            for f in found if "operation" in f["properties"]}  # fmt: skip
    assert ("interpolate-area", "antialias", None) in said
    assert ("grid-sample-2d", "float16") in said
    assert ("put", None) in said


@pytest.mark.usefixtures("forks")
def test_an_operation_by_its_spelling_with_arguments(run: Run) -> None:
    done = run(
        "verify", "--op", "index_put_", "--arg", "accumulate=True", "--shape", "100000", "--dtype",
        "float64", "--device", "cpu", "--repeats", "3", "--evidence", "evidence.json",
    )  # fmt: skip
    (row,) = json.loads(Path("evidence.json").read_text())["rows"]
    wanted = {"accumulate": True, "input.dtype": "float64", "input.shape": [100_000]}
    assert (row["id"], row["arguments"], row["not_followed"]) == ("index-put-accumulate", wanted, [])
    (experiment,) = row["experiments"]
    assert experiment["summary"].startswith("(100000,) float64, index into 1000 places")
    assert "run with accumulate=True" in done.stdout


@pytest.mark.usefixtures("forks")
def test_an_argument_that_no_probe_reads_is_named(run: Run) -> None:
    done = run("verify", "--op", "put", "--arg", "acumulate=True", "--device", "cpu", "--repeats", "2")
    assert "not followed: acumulate" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--arg", "dim=1"), "--arg belongs to an operation"),
        (("--op", "put", "--arg", "dim"), "'dim' is no argument such as dim=1"),
        (("--op", "put", "--shape", "2,x"), "'2,x' is no shape"),
        (("--op", "put", "--device", "gpu"), "'gpu' is none of cpu, cuda"),
        (("--op", "put", "--device", "cpu:1"), "is none of cpu"),
        (("--op", "put", "--dtype", "int8"), "--dtype"),
    ],
)
def test_what_cannot_be_asked(run: Run, arguments: tuple[str, ...], told: str) -> None:
    done = run("verify", *arguments)
    assert done.exit_code == 2
    assert told in done.stderr


@pytest.mark.usefixtures("forks")
def test_a_gpu_that_is_not_there_is_named(run: Run) -> None:
    done = run("verify", "--op", "put", "--device", "cuda:7", "--repeats", "2")
    assert done.exit_code == 3
    assert "NOT_EXERCISED put (CUDA)" in done.stdout


SUMS = """\
import torch

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
weight = torch.nn.Parameter(torch.randn(4_000_000, device=device))
index = torch.randint(0, 1000, (4_000_000,), device=device)
optimizer = torch.optim.SGD([weight], lr=0.1)
total = torch.zeros(1000, device=device).put_(index, weight * 2, accumulate=True)
total.pow(2).mean().backward()
optimizer.step()
"""


@pytest.mark.slow
@pytest.mark.usefixtures("forks", "two_threads")
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one thread at a time adds in one order")
def test_what_made_two_runs_part_is_confirmed_with_the_inputs_that_it_had(project: Path, run: Run) -> None:
    """Threads add to the same places for longer than a scheduler lets one of them run: never in the same order."""
    (project / "sums.py").write_text(SUMS)
    seen = run("rerun", "--output-format", "json", "sums.py")
    assert seen.exit_code == 1, seen.output
    (project / "seen.json").write_text(seen.stdout)
    (cause,) = json.loads(seen.stdout)["causes"]
    assert (cause["operation"], [f["code"] for f in cause["predicted_by"]]) == ("aten::put_", ["TRP501"])
    done = run("verify", "--rerun", "seen.json", "--device", "cpu", "--repeats", "10", "sums.py")
    assert done.exit_code == 1, done.output
    assert "sums.py:8" in done.stdout
    assert "CONFIRMED" in done.stdout
    assert "(4000000,) float32, index into 1000 places, each named about 4000 times, accumulate=True" in done.stdout
