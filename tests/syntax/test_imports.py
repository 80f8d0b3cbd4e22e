"""A new import stands where an expert would put it in that very file."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from torchrepro_lint.fixing import apply_edits
from torchrepro_lint.index import build
from torchrepro_lint.model import Fix, Safety
from torchrepro_lint.source import source_from_text
from torchrepro_lint.syntax import import_name


def imported(text: str, name: str, rel: str = "train.py") -> tuple[str, str]:
    """How `name` is written at the first call of `use()`, and the file with the import that this needs."""
    facts = build(source_from_text(text, Path("/p") / rel, rel))
    facts.is_own = {"ours"}.__contains__
    call, scope = facts.calls["use"][0]
    found = import_name(facts, name, scope, call)
    fix = Fix(Safety.SAFE, "", found.edits)
    return found.text, apply_edits({rel: facts.source}.get, [fix]).documents.get(rel, text)


USE = "\n\ndef main():\n    use()\n"


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("random.seed", "import os\nimport torch\n", "import os\nimport random\nimport torch\n"),
        ("random.seed", "# Import libraries\nimport torch\n", "# Import libraries\nimport random\n\nimport torch\n"),
        ("torch.manual_seed", "import os\n\nimport ours\n", "import os\n\nimport torch\n\nimport ours\n"),
        ("random.seed", "import torch\nimport os\n", "import torch\nimport os\nimport random\n"),
        ("random.seed", "import torch\n", "import random\n\nimport torch\n"),
        ("random.seed", "# A\n\n# ours\nfrom torch import nn\n",
         "# A\n\nimport random\n\n# ours\nfrom torch import nn\n"),
        ("random.seed", "import os\nfrom time import time\n\nimport torch\n",
         "import os\nimport random\nfrom time import time\n\nimport torch\n"),
        ("random.seed", "import os\nfrom time import time\nimport zlib\n",
         "import os\nimport random\nfrom time import time\nimport zlib\n"),
        ("random.seed", "from argparse import A\nimport os\nfrom pathlib import P\nimport sys\n",
         "from argparse import A\nimport os\nfrom pathlib import P\nimport random\nimport sys\n"),
        ("numpy.random.seed", "import os\nimport sys\n\nimport torch\n",
         "import os\nimport sys\n\nimport numpy as np\nimport torch\n"),
        ("numpy.random.seed", "import os\n\nfrom . import model\n",
         "import os\n\nimport numpy as np\n\nfrom . import model\n"),
        ("numpy.random.seed", "import os\nfrom .model import Net\n",
         "import os\nimport numpy as np\nfrom .model import Net\n"),
        ("numpy.random.seed", "import hydra\nfrom hydra import x\nfrom time import time\n\nimport apex\nimport torch\n",
         "import hydra\nfrom hydra import x\nfrom time import time\n\nimport apex\nimport numpy as np\nimport torch\n"),
        ("numpy.random.seed", "import os\n\nimport torch\n\nfrom torch import nn\nfrom tqdm import tqdm\n",
         "import os\n\nimport numpy as np\nimport torch\n\nfrom torch import nn\nfrom tqdm import tqdm\n"),
        ("torch.manual_seed", "import os\n\nfrom torch import nn\nfrom tqdm import tqdm\n",
         "import os\n\nimport torch\nfrom torch import nn\nfrom tqdm import tqdm\n"),
        ("torch.manual_seed", "import os\n", "import os\n\nimport torch\n"),
        ("torch.manual_seed", '"""Docs."""\n\nfrom __future__ import annotations\n',
         '"""Docs."""\n\nfrom __future__ import annotations\n\nimport torch\n'),
        ("torch.manual_seed", '"""Docs."""\n', '"""Docs."""\n\nimport torch\n'),
        ("torch.manual_seed", "#!/usr/bin/env python\n# coding: utf-8\n",
         "#!/usr/bin/env python\n# coding: utf-8\n\nimport torch\n"),
        ("torch.manual_seed", "x = 1\n", "import torch\n\nx = 1\n"),
        ("torch.manual_seed", "# a\n\n# about x\nx = 1\n", "# a\n\nimport torch\n\n# about x\nx = 1\n"),
        ("torch.manual_seed", "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    import torch as t\n",
         "from typing import TYPE_CHECKING\n\nimport torch\n\nif TYPE_CHECKING:\n    import torch as t\n"),
        ("torch.manual_seed", "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'\n\nimport numpy as np\n",
         "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'\n\nimport numpy as np\nimport torch\n"),
        ("torch.manual_seed", "import torchvision\n\nfrom ours import x\n",
         "import torch\nimport torchvision\n\nfrom ours import x\n"),
        ("random.seed", "import os; x = 1\n", "import os; import random; x = 1\n"),
        ("random.seed", "from a import (\n    b,\n)\nimport os  # why\n",
         "from a import (\n    b,\n)\nimport os  # why\nimport random\n"),
        ("accelerate.utils.Plug", "from accelerate.utils import (\n    Data,\n    set_seed,\n)\n",
         "from accelerate.utils import (\n    Data,\n    Plug,\n    set_seed,\n)\n"),
        ("accelerate.utils.zoo", "from accelerate.utils import b, a\n", "from accelerate.utils import b, a, zoo\n"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_new_import_goes_with_those_of_its_kind(name: str, before: str, after: str, newline: str) -> None:
    _, text = imported((before + USE).replace("\n", newline), name)
    assert text.replace("\r\n", "\n") == after + USE
    assert ("\r\n" in text) == (newline == "\r\n")
    ast.parse(text)


def test_the_files_own_package_is_not_third_party() -> None:
    before = "import os\n\nfrom pkg.a import b\n"
    text = imported(before + USE, "torch.manual_seed", "src/pkg/train.py")[1]
    assert text == "import os\n\nimport torch\n\nfrom pkg.a import b\n" + USE


def test_a_folder_that_is_called_like_a_library_is_not_its_package() -> None:
    before = "from datasets import load_dataset\nfrom tqdm import tqdm\n"
    text = imported(before + USE, "torch.manual_seed", "examples/datasets/prepare.py")[1]
    assert text == "import torch\n" + before + USE


@pytest.mark.parametrize(
    ("text", "name", "written"),
    [
        ("import numpy as n\n", "numpy.random.seed", "n.random.seed"),
        ("from torch import Generator as G\nimport torch\n", "torch.Generator", "G"),
        ("try:\n    import numpy as np\nexcept ImportError:\n    np = None\n", "numpy.random.seed", "np.random.seed"),
        ("def other():\n    import torch\n", "torch.manual_seed", "torch.manual_seed"),
        ("torch = 3\n", "torch.manual_seed", "_torch.manual_seed"),
    ],
)
def test_how_it_is_written(text: str, name: str, written: str) -> None:
    assert imported(text + USE, name)[0] == written


def test_an_import_of_the_function_itself_is_used() -> None:
    text = "def main():\n    import torch as t\n    use()\n"
    assert imported(text, "torch.manual_seed") == ("t.manual_seed", text)


def test_an_import_further_down_is_not() -> None:
    text = "def main():\n    use()\n    import torch as t\n"
    written, after = imported(text, "torch.manual_seed")
    assert (written, after) == ("torch.manual_seed", "import torch\n\n\n" + text)


def test_at_the_top_of_a_script_the_import_comes_before_its_use() -> None:
    text = "import os\nuse()\nimport numpy as np\n"
    assert imported(text, "torch.manual_seed")[1] == "import os\n\nimport torch\nuse()\nimport numpy as np\n"
    written, after = imported(text, "numpy.random.seed")
    assert (written, after) == ("np.random.seed", "import os\n\nimport numpy as np\nuse()\nimport numpy as np\n")
