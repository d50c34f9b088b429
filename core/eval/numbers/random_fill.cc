// FillRandom: by the kind of the element type.
#include "core/eval/numbers/random_fill.h"

#include <algorithm>

#include "core/base/fnv.h"
#include "core/eval/numbers/wide.h"

namespace hloscope::eval {

using hlo::ElementKind;
using hlo::ElementType;

namespace {

constexpr int64_t kAtOnce = 256;

// Elements are made wide and stored a block at a time.
template <typename W, typename Make>
void Fill(ElementType type, std::byte* out, int64_t count, const Make& make) {
  W block[kAtOnce];
  for (int64_t done = 0; done < count; done += kAtOnce) {
    const int64_t n = std::min(kAtOnce, count - done);
    for (int64_t i = 0; i < n; ++i) block[i] = make();
    StoreFrom<W>(type, block, out + done * hlo::StorageBytes(type), n);
  }
}

}  // namespace

void FillRandom(ElementType type, uint64_t seed, std::byte* out, int64_t count) {
  RandomBits random(seed);
  auto small = [&random] { return -0.1 + 0.3 * random.NextUnit(); };
  switch (hlo::Info(type).kind) {
    case ElementKind::kFloat:
      if (hlo::BitWidth(type) > 4) return Fill<double>(type, out, count, small);
      for (int64_t i = 0; i < count; ++i) out[i] = static_cast<std::byte>(random.Next() & 0xf);
      return;
    case ElementKind::kComplex:
      return Fill<Complex>(type, out, count, [&] {
        const double real = small();
        return Complex(real, small());
      });
    case ElementKind::kPred:
      for (int64_t i = 0; i < count; ++i) out[i] = static_cast<std::byte>(random.Next() & 1);
      return;
    default:
      return Fill<int64_t>(type, out, count, [&] { return static_cast<int64_t>(random.Next()); });
  }
}

uint64_t SeedOfConstant(uint64_t seed, std::string_view name) { return FnvOf(name, seed); }

}  // namespace hloscope::eval
