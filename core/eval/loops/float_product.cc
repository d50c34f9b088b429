// Tiles of a product for three generations of vector units. Every sum is formed in order of k, one
// rounding after each product and each addition; where products are exact, fused ones round alike.
#include "core/eval/loops/float_product.h"

#include <immintrin.h>

#include <algorithm>

#include "core/eval/numbers/wide.h"

namespace hloscope::eval {
namespace {

constexpr int64_t kPackGrain = 1 << 16;  // elements

// Name<kRows, kFused>(left, depth, panel, out, stride): kRows rows of the product with two vectors
// of columns of a panel, the sums in registers.
#define HLOSCOPE_DEFINE_TILE(Name, Target, Vector, Load, Store, Broadcast, FusedSum)            \
  template <int kRows, bool kFused>                                                             \
  __attribute__((target(Target))) void Name(const double* left, int64_t depth,                  \
                                            const double* panel, double* out, int64_t stride) { \
    constexpr int kWidth = sizeof(Vector) / sizeof(double);                                     \
    Vector sum[kRows][2];                                                                       \
    for (int r = 0; r < kRows; ++r) sum[r][0] = sum[r][1] = Broadcast(0.0);                     \
    for (int64_t k = 0; k < depth; ++k, panel += kPanelColumns) {                               \
      const Vector y0 = Load(panel), y1 = Load(panel + kWidth);                                 \
      for (int r = 0; r < kRows; ++r) {                                                         \
        const Vector x = Broadcast(left[r * depth + k]);                                        \
        if constexpr (kFused) {                                                                 \
          sum[r][0] = FusedSum(x, y0, sum[r][0]);                                               \
          sum[r][1] = FusedSum(x, y1, sum[r][1]);                                               \
        } else {                                                                                \
          sum[r][0] = sum[r][0] + x * y0;                                                       \
          sum[r][1] = sum[r][1] + x * y1;                                                       \
        }                                                                                       \
      }                                                                                         \
    }                                                                                           \
    for (int r = 0; r < kRows; ++r) {                                                           \
      Store(out + r * stride, sum[r][0]);                                                       \
      Store(out + r * stride + kWidth, sum[r][1]);                                              \
    }                                                                                           \
  }

#define HLOSCOPE_PLAIN_SUM(x, y, sum) ((sum) + (x) * (y))
HLOSCOPE_DEFINE_TILE(TileV4, "avx512f", __m512d, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_set1_pd,
                     _mm512_fmadd_pd)
HLOSCOPE_DEFINE_TILE(TileV3, "avx2,fma", __m256d, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_set1_pd,
                     _mm256_fmadd_pd)
HLOSCOPE_DEFINE_TILE(TileV1, "sse2", __m128d, _mm_loadu_pd, _mm_storeu_pd, _mm_set1_pd,
                     HLOSCOPE_PLAIN_SUM)
#undef HLOSCOPE_PLAIN_SUM
#undef HLOSCOPE_DEFINE_TILE

using Tile = void (*)(const double*, int64_t, const double*, double*, int64_t);
struct Tiles {
  int64_t rows;     // of the big tile
  int64_t columns;  // of both
  Tile big, single;
};

// The AddressSanitizer of gcc 12 aligns locals to no more than 32 bytes, too few for the widest.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kHasWidestTile = false;
#else
constexpr bool kHasWidestTile = true;
#endif

template <bool kFused>
Tiles TilesOfProcessor() {
  if (kHasWidestTile && __builtin_cpu_supports("avx512f"))
    return {8, 16, TileV4<8, kFused>, TileV4<1, kFused>};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return {4, 8, TileV3<4, kFused>, TileV3<1, kFused>};
  }
  return {4, 4, TileV1<4, kFused>, TileV1<1, kFused>};
}

}  // namespace

Status PackRight(Machine& machine, hlo::ElementType type, const std::byte* data, int64_t depth,
                 int64_t stride, int64_t first, int64_t columns, double* packed) {
  const int bytes = hlo::StorageBytes(type);
  const int64_t grain = std::max<int64_t>(1, kPackGrain / kPanelColumns);
  return machine.ForRanges(PanelCount(columns) * depth, grain, [&](IndexRange range) -> Status {
    for (int64_t i = range.begin; i < range.end; ++i) {
      const int64_t column = i / depth * kPanelColumns, k = i % depth;
      const int64_t count = std::min(kPanelColumns, columns - column);
      double* to = packed + i * kPanelColumns;
      LoadAs<double>(type, data + (k * stride + first + column) * bytes, to, count);
      std::fill(to + count, to + kPanelColumns, 0.0);
    }
    return {};
  });
}

bool HasExactProducts(hlo::ElementType left, hlo::ElementType right) {
  const auto is_short = [](hlo::ElementType type) {
    return hlo::IsFloat(type) && hlo::BitWidth(type) <= 32;
  };
  return is_short(left) && is_short(right);
}

void Multiply(const ProductBlock& block) {
  static const Tiles fused = TilesOfProcessor<true>(), plain = TilesOfProcessor<false>();
  const Tiles& tiles = block.exact_products ? fused : plain;
  const int64_t stride = (block.panel_end - block.panel) * kPanelColumns;
  for (int64_t p = block.panel; p < block.panel_end; ++p) {
    for (int64_t c = 0; c < kPanelColumns; c += tiles.columns) {
      const double* panel = block.packed + p * kPanelColumns * block.depth + c;
      double* out = block.out + (p - block.panel) * kPanelColumns + c;
      int64_t r = 0;
      for (; r + tiles.rows <= block.rows; r += tiles.rows) {
        tiles.big(block.left + r * block.depth, block.depth, panel, out + r * stride, stride);
      }
      for (; r < block.rows; ++r) {
        tiles.single(block.left + r * block.depth, block.depth, panel, out + r * stride, stride);
      }
    }
  }
}

}  // namespace hloscope::eval
