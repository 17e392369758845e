// Lets files/metal/*.metal compile as C++20, to test its arithmetic where there is no Metal.
//
// A threadgroup is run as real threads that meet at a real barrier, so a missing threadgroup_barrier shows (build
// with -fsanitize=thread to be told where). Threadgroups run one after the other: their memory is static.
// A simdgroup matrix is held whole by each lane of its simdgroup: same arithmetic, no sharing.
#pragma once

#include <barrier>
#include <cmath>
#include <thread>
#include <vector>

#define kernel static
#define device
#define constant const
#define threadgroup static

namespace metal {

using uint = unsigned int;

struct uint2 {
    uint x, y;
};

enum class mem_flags { mem_threadgroup };

inline thread_local std::barrier<>* group_barrier = nullptr;

inline void threadgroup_barrier(mem_flags) { group_barrier->arrive_and_wait(); }

using std::fma;

struct simdgroup_float8x8 {
    float value[8][8];
};

template <typename Scalar, int Rows, int Columns>
simdgroup_float8x8 make_filled_simdgroup_matrix(Scalar scalar)
{
    static_assert(Rows == 8 && Columns == 8, "the hardware knows 8 x 8 only");
    simdgroup_float8x8 matrix;
    for (auto& row : matrix.value) {
        for (auto& element : row) element = scalar;
    }
    return matrix;
}

inline void simdgroup_load(simdgroup_float8x8& matrix, const float* source, unsigned long elements_per_row)
{
    for (int row = 0; row < 8; ++row) {
        for (int column = 0; column < 8; ++column) matrix.value[row][column] = source[row * elements_per_row + column];
    }
}

inline thread_local uint lane = 0;

inline void simdgroup_store(const simdgroup_float8x8& matrix, float* target, unsigned long elements_per_row)
{
    if (lane != 0) return;
    for (int row = 0; row < 8; ++row) {
        for (int column = 0; column < 8; ++column) target[row * elements_per_row + column] = matrix.value[row][column];
    }
}

inline void simdgroup_multiply_accumulate(simdgroup_float8x8& result, const simdgroup_float8x8& left,
                                          const simdgroup_float8x8& right, const simdgroup_float8x8& addend)
{
    simdgroup_float8x8 sum = addend;
    for (int row = 0; row < 8; ++row) {
        for (int column = 0; column < 8; ++column) {
            for (int i = 0; i < 8; ++i) {
                sum.value[row][column] = std::fma(left.value[row][i], right.value[i][column], sum.value[row][column]);
            }
        }
    }
    result = sum;
}

// Runs body(thread index) once for each thread of one threadgroup, all at the same time.
template <typename Body>
void run_threadgroup(uint threads, Body body)
{
    std::barrier<> barrier(threads);
    std::vector<std::thread> workers;
    for (uint index = 0; index < threads; ++index) {
        workers.emplace_back([&, index] {
            group_barrier = &barrier;
            lane = index % 32;
            body(index);
        });
    }
    for (auto& worker : workers) worker.join();
}

}  // namespace metal
