// Reads "kernel m n k" and A and B as float32 on standard input, runs the kernel of files/metal/matmul.metal on a
// grid of threadgroups, and writes C as float32. C is surrounded by guards: status 3 says that a kernel wrote
// beyond its edges.
#include <cstdio>
#include <cstring>
#include <string>

#include "metal_host.h"

// An attribute such as [[buffer(0)]] is unknown to C++ and ignored; <metal_stdlib> is an empty file beside this one.
#include MATMUL_SOURCE

int main()
{
    char name[32];
    long shape[3];
    if (std::scanf("%31s %ld %ld %ld", name, &shape[0], &shape[1], &shape[2]) != 4 || std::getchar() != '\n') return 2;
    const long m = shape[0], n = shape[1], k = shape[2];
    constexpr long guard = 1024;
    constexpr float untouched = -12345.5f;
    std::vector<float> a(m * k), b(k * n), c(m * n + 2 * guard, untouched);
    if (std::fread(a.data(), sizeof(float), a.size(), stdin) != a.size()) return 2;
    if (std::fread(b.data(), sizeof(float), b.size(), stdin) != b.size()) return 2;

    const bool tiled = std::string(name) == "matmul_tiled";
    const long edge = tiled ? tiled_edge : block_edge;
    for (uint y = 0; y * edge < m; ++y) {
        for (uint x = 0; x * edge < n; ++x) {
            const metal::uint2 group{x, y};
            float* out = c.data() + guard;
            metal::run_threadgroup(tiled ? tiled_edge * tiled_edge : block_threads, [&](uint index) {
                if (tiled) {
                    matmul_tiled(a.data(), b.data(), out, shape, group, {index % tiled_edge, index / tiled_edge});
                } else {
                    matmul_simdgroup(a.data(), b.data(), out, shape, group, index, index / 32);
                }
            });
        }
    }
    for (long i = 0; i < guard; ++i) {
        if (c[i] != untouched || c[guard + m * n + i] != untouched) return 3;
    }
    return std::fwrite(c.data() + guard, sizeof(float), m * n, stdout) == static_cast<size_t>(m * n) ? 0 : 2;
}
