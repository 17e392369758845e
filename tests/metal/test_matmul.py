"""The arithmetic of files/metal/matmul.metal, compiled as C++ from the same text."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "files" / "metal" / "matmul.metal"
KERNELS = ("matmul_tiled", "matmul_simdgroup")
# one element, a vector either way, exact tiles, and every edge off by one
SHAPES = [(1, 1, 1), (1, 40, 3), (33, 1, 5), (32, 32, 16), (16, 48, 32), (31, 33, 17), (37, 65, 50)]


def build(folder: Path, source: Path = SOURCE) -> Path:
    (folder / "metal_stdlib").write_text("")
    program = folder / "matmul"
    flags = ["-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-attributes", "-pthread"]
    paths = [f"-I{folder}", f"-I{HERE}", f'-DMATMUL_SOURCE="{source}"']
    subprocess.run(["g++", *flags, *paths, str(HERE / "matmul_host.cpp"), "-o", str(program)], check=True)
    return program


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("metal"))


def multiply(program: Path, kernel: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    (m, k), n = a.shape, b.shape[1]
    run = subprocess.run(
        [str(program)],
        input=f"{kernel} {m} {n} {k}\n".encode() + a.tobytes() + b.tobytes(),
        capture_output=True,
        check=True,
    )
    return np.frombuffer(run.stdout, dtype=np.float32).reshape(m, n)


def operands(m: int, n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(m * 10007 + n * 101 + k)
    return (
        generator.standard_normal((m, k)).astype(np.float32),
        generator.standard_normal((k, n)).astype(np.float32),
    )


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "x".join(map(str, shape)))
def test_product_equals_float64_within_rounding(program: Path, kernel: str, shape: tuple[int, int, int]) -> None:
    a, b = operands(*shape)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    # k roundings of the running sum, each at most half an ulp of the sum of magnitudes
    bound = shape[2] * np.finfo(np.float32).eps * (np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64))
    assert (np.abs(multiply(program, kernel, a, b) - exact) <= bound + 1e-30).all()


def test_a_kernel_without_its_bounds_check_is_caught(tmp_path: Path) -> None:
    text = SOURCE.read_text()
    check = "if (row < m && column < n) {\n        c[row * n + column] = sum;"
    assert check in text
    broken = tmp_path / "broken.metal"
    broken.write_text(text.replace(check, "{\n        c[row * n + column] = sum;"))
    program = build(tmp_path, broken)
    a, b = operands(17, 17, 4)
    with pytest.raises(subprocess.CalledProcessError) as raised:
        multiply(program, "matmul_tiled", a, b)
    assert raised.value.returncode == 3
