// C = A B for row-major single-precision matrices of any size, in two forms:
//
//   matmul_tiled      16 x 16 tiles in threadgroup memory; one thread an element. Any Metal device.
//   matmul_simdgroup  32 x 32 tiles; four simdgroups, each with 2 x 2 matrices of 8 x 8 on the matrix
//                     path of the chip (GPU family Apple 7: M1 and later).
//
// Sizes need not be multiples of a tile: loads beyond an edge read as zero, stores beyond it are left out.
// `shape` is {M, N, K}: A is M x K, B is K x N, C is M x N.
//
// The same text compiles as C++ behind tests/metal/metal_host.h, where its arithmetic is tested.

#include <metal_stdlib>
using namespace metal;

constant constexpr uint tiled_edge = 16;

kernel void matmul_tiled(device const float* a [[buffer(0)]],
                         device const float* b [[buffer(1)]],
                         device float* c [[buffer(2)]],
                         constant long* shape [[buffer(3)]],
                         uint2 group [[threadgroup_position_in_grid]],
                         uint2 local [[thread_position_in_threadgroup]])
{
    threadgroup float tile_a[tiled_edge][tiled_edge];
    threadgroup float tile_b[tiled_edge][tiled_edge];
    const long m = shape[0], n = shape[1], k = shape[2];
    const long row = long(group.y) * tiled_edge + local.y;
    const long column = long(group.x) * tiled_edge + local.x;

    float sum = 0.0f;
    for (long start = 0; start < k; start += tiled_edge) {
        const long a_column = start + local.x;
        const long b_row = start + local.y;
        tile_a[local.y][local.x] = (row < m && a_column < k) ? a[row * k + a_column] : 0.0f;
        tile_b[local.y][local.x] = (b_row < k && column < n) ? b[b_row * n + column] : 0.0f;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = 0; i < tiled_edge; ++i) {
            sum = fma(tile_a[local.y][i], tile_b[i][local.x], sum);
        }
        // Nobody may load the next tile while another thread still reads this one.
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (row < m && column < n) {
        c[row * n + column] = sum;
    }
}

constant constexpr uint block_edge = 32;     // edge of the tile of C that a threadgroup computes
constant constexpr uint block_depth = 16;    // how much of K it loads at a time
constant constexpr uint block_threads = 128; // four simdgroups of 32 threads

kernel void matmul_simdgroup(device const float* a [[buffer(0)]],
                             device const float* b [[buffer(1)]],
                             device float* c [[buffer(2)]],
                             constant long* shape [[buffer(3)]],
                             uint2 group [[threadgroup_position_in_grid]],
                             uint thread_index [[thread_index_in_threadgroup]],
                             uint simdgroup_id [[simdgroup_index_in_threadgroup]])
{
    threadgroup float tile_a[block_edge * block_depth];
    threadgroup float tile_b[block_depth * block_edge];
    threadgroup float tile_c[block_edge * block_edge];
    const long m = shape[0], n = shape[1], k = shape[2];
    const long first_row = long(group.y) * block_edge;
    const long first_column = long(group.x) * block_edge;
    // Where in the tile this simdgroup's 16 x 16 quarter lies.
    const uint quarter_row = (simdgroup_id / 2) * 16;
    const uint quarter_column = (simdgroup_id % 2) * 16;

    simdgroup_float8x8 sums[2][2];
    for (uint i = 0; i < 2; ++i) {
        for (uint j = 0; j < 2; ++j) {
            sums[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
        }
    }

    for (long start = 0; start < k; start += block_depth) {
        for (uint i = thread_index; i < block_edge * block_depth; i += block_threads) {
            const long row = first_row + i / block_depth;
            const long column = start + i % block_depth;
            tile_a[i] = (row < m && column < k) ? a[row * k + column] : 0.0f;
        }
        for (uint i = thread_index; i < block_depth * block_edge; i += block_threads) {
            const long row = start + i / block_edge;
            const long column = first_column + i % block_edge;
            tile_b[i] = (row < k && column < n) ? b[row * n + column] : 0.0f;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint depth = 0; depth < block_depth; depth += 8) {
            simdgroup_float8x8 left[2], right[2];
            for (uint i = 0; i < 2; ++i) {
                simdgroup_load(left[i], tile_a + (quarter_row + 8 * i) * block_depth + depth, block_depth);
                simdgroup_load(right[i], tile_b + depth * block_edge + quarter_column + 8 * i, block_edge);
            }
            for (uint i = 0; i < 2; ++i) {
                for (uint j = 0; j < 2; ++j) {
                    simdgroup_multiply_accumulate(sums[i][j], left[i], right[j], sums[i][j]);
                }
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }

    // simdgroup_store writes whole 8 x 8 matrices, so edges go through threadgroup memory.
    for (uint i = 0; i < 2; ++i) {
        for (uint j = 0; j < 2; ++j) {
            simdgroup_store(sums[i][j],
                            tile_c + (quarter_row + 8 * i) * block_edge + quarter_column + 8 * j,
                            block_edge);
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = thread_index; i < block_edge * block_edge; i += block_threads) {
        const long row = first_row + i / block_edge;
        const long column = first_column + i % block_edge;
        if (row < m && column < n) {
            c[row * n + column] = tile_c[i];
        }
    }
}
