// Products of matrices of float32 at the speed of the processor's widest vectors.
#pragma once

#include <cstdint>
#include <string>

namespace dtrain {

// Whether products use oneDNN's kernels, through a function inside LibTorch: that function was there when
// dtrain was built, and this processor has AVX-512. Else they are kernels/panel_products.h. It depends on the
// processor's features alone, not on its load, because the two ways may differ in the last bits of a product.
bool has_block_products();

// "brgemm" (oneDNN's kernels) or "panels" (our own).
std::string products_in_use();

// c = a b, or with `adds` c += a b: a [m, k], b [k, n], c [m, n], row-major, without gaps. Any size may be 0.
// Each number is summed in the order of k: the number of threads changes no bit, nor does where the matrices
// lie, nor do m and n. Not-a-number and infinity count as in any sum.
void multiply(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c, bool adds);

// The same for each of `count` matrices that follow each other; threads share out the matrices.
void multiply_each(int64_t count, int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c,
                   bool adds);

// c = a' b for each: a [k, m], b [k, n], c [m, n]. `scratch` has room for m * k numbers, with
// has_block_products().
void multiply_each_transposed(int64_t count, int64_t m, int64_t n, int64_t k, const float* a, const float* b,
                              float* c, bool adds, float* scratch);

}  // namespace dtrain
