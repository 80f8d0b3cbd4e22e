"""C++ and CUDA sources as text: definitions, what they use, what they hand to Python; and hostile ones."""

from __future__ import annotations

import pytest

from torchrepro_lint.kernels.native_sources import NativeSources
from torchrepro_lint.kernels.native_text import Function, Registration, blanked, functions, registrations
from torchrepro_lint.time_limit import limited

SOURCE = """
#define CHECK(x) TORCH_CHECK(x, "{")
/* void no() { */
namespace detail {
template <typename T = float, int N = 4>
__global__ void __launch_bounds__(256) add(const T *x, T *out) { atomicAdd(out, x[0]); }
}  // namespace detail
struct Op : public torch::autograd::Function<Op> {
  static at::Tensor backward(at::Tensor g) { detail::add<float><<<1, 2>>>(g, g); return g; }
};
int table[] = {1, 2};
const char *text = "void hidden() { }";
at::Tensor Holder::run(at::Tensor x) const { auto f = [&](int i) { return i; }; return Op::apply(x); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("run", &run, "runs");
  py::class_<Holder>(m, "Holder").def("size", [](Holder &h) { return h.size(); });
}
"""


def defined(text: str) -> list[Function]:
    return list(functions(blanked(text)))


def test_the_functions_of_a_file() -> None:
    found = [(f.name, f.owner) for f in defined(SOURCE)]
    assert found == [("add", ""), ("backward", "Op"), ("run", "Holder"), ("PYBIND11_MODULE", "")]


def test_what_blanking_leaves_is_where_it_was() -> None:
    code = blanked(SOURCE)
    assert len(code) == len(SOURCE)
    assert code.index("atomicAdd") == SOURCE.index("atomicAdd")
    assert "hidden" not in code
    assert code.count("\n") == SOURCE.count("\n")


def test_what_a_function_uses() -> None:
    add, backward, run, _ = defined(SOURCE)
    assert add.uses == {"atomicAdd"}
    assert "add" in backward.uses
    assert "Op" in run.uses


def test_what_is_handed_to_python() -> None:
    found = list(registrations(SOURCE, blanked(SOURCE)))
    assert [(r.name, r.is_operator) for r in found] == [("run", False), ("size", False)]
    assert isinstance(found[0], Registration)
    assert "run" in found[0].uses


@pytest.mark.parametrize(
    ("added", "wanted"),
    [
        ("atomicAdd(out + i, x[i])", True),
        ("atomicAdd(&out[index(i, 2)], x[i] * (1 - w))", True),
        ("gpuAtomicAddNoReturn(&out[i], static_cast<scalar_t>(x[i]))", True),
        ("fastAtomicAdd(out, i, n, x[i], true)", True),
        ("atomicAdd(out + i, 1.0f)", False),
        ("atomicAdd(out + i, (scalar_t)1)", False),
        ("atomicAdd(out + i, static_cast<scalar_t>(1))", False),
        ("atomicAdd(&counts[i], n)", False),
        ("atomicAdd((int *)out, n)", False),
        ("atomicMax(out, x[i])", False),
        ("// atomicAdd(out, x[i])", False),
    ],
)
def test_what_counts_as_a_sum_of_floats(added: str, wanted: bool) -> None:
    text = f"""
void kernel(const float *x, float *out, unsigned int *counts) {{
  {added};
}}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{ m.def("f", &kernel); }}
"""
    assert (NativeSources({"a.cu": text}).atomic("f", namespace=None) is not None) is wanted


def test_several_functions_of_one_name_must_all_add() -> None:
    adds = 'void k(float *x) { atomicAdd(x, x[1]); }\nPYBIND11_MODULE(a, m) { m.def("forward", &k); }'
    not_adds = 'void k(float *x) { x[0] = 1; }\nPYBIND11_MODULE(b, m) { m.def("forward", &k); }'
    assert NativeSources({"a.cu": adds}).atomic("forward", namespace=None) is not None
    assert NativeSources({"a.cu": adds, "b.cu": not_adds}).atomic("forward", namespace=None) is None


@pytest.mark.parametrize(
    "part",
    ["atomicAdd(", "{", "m.def(", "template <", "f(", '"', "/*", "class a ", "void f() {", "<", "f<", "&a::", 'R"x('],
)
def test_brackets_that_are_never_closed_take_no_time(part: str) -> None:
    text = "PYBIND11_MODULE(a, m) {" + part * 20_000
    with limited(30):  # of seconds of CPU; it takes less than one, and minutes where each is compared with each
        assert NativeSources({"a.cu": text}).atomic("f", namespace=None) is None
